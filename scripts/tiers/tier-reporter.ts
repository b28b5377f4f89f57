import { mkdirSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node'
import { ROOT } from '../source-tree.ts'
import { type FailedTest, reportPath, summaryLines, type TierReport } from './tier-report.mjs'

/** Set by `run-tier.ts`. Absent if the runner was started by hand. */
const TIER_VARIABLE = 'NUNCIO_TEST_TIER'

/** Prints the summary of a tier at its end, and stores it for the sum over several tiers. */
export class TierReporter implements Reporter {
  readonly #startedAt = performance.now()

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tier = process.env[TIER_VARIABLE]
    if (!tier) return
    const report = describeRun(tier, performance.now() - this.#startedAt, { modules, unhandled })
    const path = reportPath(tier)
    mkdirSync(new URL('.', path), { recursive: true })
    writeFileSync(path, JSON.stringify(report))
    console.log(['', ...summaryLines([report])].join('\n'))
  }
}

interface Run {
  readonly modules: readonly TestModule[]
  readonly unhandled: readonly SerializedError[]
}

function describeRun(tier: string, durationMs: number, { modules, unhandled }: Run): TierReport {
  const outside = unhandled.map(({ message, stack }) => failure('outside', 'of any test', stack ?? message))
  return {
    tier,
    durationMs,
    files: modules.map((module) => {
      const tests = [...module.children.allTests()]
      return {
        file: fileOf(module),
        durationMs: module.diagnostic().duration,
        passed: tests.filter((test) => test.result().state === 'passed').length,
        skipped: tests.filter((test) => test.result().state === 'skipped').map(skippedName),
      }
    }),
    failures: [...modules.flatMap(failuresOf), ...outside],
  }
}

function failuresOf(module: TestModule): FailedTest[] {
  const file = fileOf(module)
  const tests = [...module.children.allTests()].flatMap((test) => {
    const { state, errors = [] } = test.result()
    return state === 'failed' ? [failure(file, test.fullName, textOf(errors))] : []
  })
  const suites = [...module.children.allSuites()].flatMap((suite) => {
    const errors = suite.errors()
    return errors.length > 0 ? [failure(file, suite.fullName, textOf(errors))] : []
  })
  const own = module.errors()
  // A file that cannot be loaded has no failed test.
  return [...(own.length > 0 ? [failure(file, 'the file itself', textOf(own))] : []), ...suites, ...tests]
}

function failure(file: string, test: string, text: string): FailedTest {
  return { file, test, text }
}

function textOf(errors: readonly SerializedError[]): string {
  return errors
    .map(({ message, stack }) => (stack?.includes(message) ? stack : `${message}\n${stack ?? ''}`))
    .join('\n')
}

/** The name of a skipped test, with the reason if the name does not contain it. */
function skippedName(test: TestCase): string {
  const result = test.result()
  const note = result.state === 'skipped' ? result.note : undefined
  return note ? `${test.fullName} (${note})` : test.fullName
}

function fileOf({ moduleId }: TestModule): string {
  return relative(ROOT, moduleId).replaceAll('\\', '/')
}
