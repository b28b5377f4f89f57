import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type FileReport, summaryLines, type TierReport } from './tier-report.mjs'

describe('the summary of a run', () => {
  it('names each failed test with the first lines of its error, and files that could not be loaded', () => {
    const lines = summaryLines([
      report({
        failures: [
          { file: 'src/a.test.ts', test: 'a breaks', text: '\nAssertionError: so\n\nlost: 1\n    at line 1\n    at 2' },
          { file: 'b.test.ts', test: 'the file itself', text: 'Cannot find it\nanywhere' },
        ],
      }),
    ])

    assert.deepEqual(lines.slice(0, 5), [
      'FAILED src/a.test.ts > a breaks: AssertionError: so',
      '  lost: 1',
      '      at line 1',
      'FAILED b.test.ts > the file itself: Cannot find it',
      '  anywhere',
    ])
    assert.equal(lines.at(-1), '0 passed, 2 failed')
  })

  it('names what was skipped, the ten slowest files, and each tier with its counts and its time', () => {
    const files = Array.from({ length: 12 }, (_, index) =>
      file({ file: `${index}.test.ts`, durationMs: index * 1_000 }),
    )
    const skipped = file({ file: 'z.test.ts', skipped: ['a power cut (skipped: mkfs.xfs is missing)'] })

    const lines = summaryLines([
      report({ tier: 'test', files: [...files, skipped], durationMs: 61_234 }),
      report({ tier: 'e2e', files: [file({ passed: 3 })], durationMs: 500 }),
    ])

    assert.deepEqual(lines, [
      'SKIPPED z.test.ts > a power cut (skipped: mkfs.xfs is missing)',
      'slowest files:',
      ...[11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((at) => `${`${at}.0 s`.padStart(9)}  ${at}.test.ts`),
      'test: 13 files, 13 passed, 0 failed, 1 skipped, 61.2 s',
      'e2e: 1 file, 3 passed, 0 failed, 0 skipped, 0.5 s',
      '16 passed, 0 failed, 1 skipped',
    ])
  })
})

function report(facts: Partial<TierReport>): TierReport {
  return { tier: 'test', durationMs: 0, files: [], failures: [], ...facts }
}

function file(facts: Partial<FileReport>): FileReport {
  return { file: 'a.test.ts', durationMs: 0, passed: 1, skipped: [], ...facts }
}
