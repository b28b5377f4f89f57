import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it } from 'vitest'

const SCRIPT = resolve(import.meta.dirname, 'count-tests.mjs')

describe('the last lines of a run', () => {
  it('name each failed test with the first line of what it says, and each file that could not be loaded', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-count-'))
    const lines = linesAfter(folder, '1', {
      numPassedTests: 7,
      testResults: [
        {
          name: join(folder, 'src/a.test.ts'),
          status: 'failed',
          message: '',
          assertionResults: [
            { status: 'passed', fullName: 'a goes', failureMessages: [] },
            { status: 'failed', fullName: 'a breaks', failureMessages: ['\nAssertionError: so\n    at line 1'] },
          ],
        },
        {
          name: join(folder, 'b.test.ts'),
          status: 'failed',
          message: 'Cannot find it\nanywhere',
          assertionResults: [],
        },
        { name: join(folder, 'c.test.ts'), status: 'passed', message: '', assertionResults: [] },
      ],
    })
    assert.deepEqual(lines, [
      'FAILED src/a.test.ts > a breaks: AssertionError: so',
      'FAILED b.test.ts > the file itself: Cannot find it',
      '7 passed, 2 failed',
    ])
  })

  it('count a failure when a run failed without a report, or without a failed test', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-count-'))
    assert.deepEqual(linesAfter(folder, '1'), ['0 passed, 1 failed'])
    assert.deepEqual(linesAfter(folder, '1', { numPassedTests: 3, testResults: [] }), ['3 passed, 1 failed'])
    assert.deepEqual(linesAfter(folder, '0', { numPassedTests: 3, testResults: [] }), ['3 passed, 0 failed'])
  })
})

function linesAfter(folder: string, exitCode: string, report?: object): string[] {
  const place = join(folder, 'node_modules/.setup')
  mkdirSync(place, { recursive: true })
  if (report) writeFileSync(join(place, 'test-report.json'), JSON.stringify(report))
  return execFileSync(process.execPath, [SCRIPT, exitCode], { cwd: folder, encoding: 'utf8' }).trim().split('\n')
}
