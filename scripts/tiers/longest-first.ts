import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { LONGEST } from './test-projects.ts'

/**
 * Starts the longest files first, so that no worker runs one of them alone in the end. A fresh clone knows no times, and
 * the runner then goes by the size of a file, which says nothing of one that only calls a suite.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications)
    const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((file) => moduleId.endsWith(`/${file}`))
    return [...sorted.filter(isLong), ...sorted.filter((specification) => !isLong(specification))]
  }
}
