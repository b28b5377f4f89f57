import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { LONGEST } from './test-projects.ts'

/**
 * Starts the longest files first, so that no worker runs one of them alone at the end. A fresh clone has no times yet. Then the
 * runner uses the size of a file, which says nothing about a file that only calls a suite.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications)
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((file) => moduleId.endsWith(`/${file}`))
    return [...sorted.filter(isLong), ...sorted.filter((specification) => !isLong(specification))]
  }
}
