import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'

const SCRIPT = resolve(import.meta.dirname, 'count-tests.mjs')

describe('the last lines of a run', () => {
  it('name each failed test with what it says first, and each file that could not be loaded', () => {
    const folder = openFolder()
    const lines = linesAfter(folder, '1', {
      numPassedTests: 7,
      testResults: [
        {
          name: join(folder, 'src/a.test.ts'),
          status: 'failed',
          message: '',
          assertionResults: [
            { status: 'passed', fullName: 'a goes', failureMessages: [] },
            {
              status: 'failed',
              fullName: 'a breaks',
              failureMessages: ['\nAssertionError: so\n\nlost: 1\n    at line 1'],
            },
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
      '  lost: 1',
      '      at line 1',
      'FAILED b.test.ts > the file itself: Cannot find it',
      '  anywhere',
      '7 passed, 2 failed',
    ])
  })

  it('name what broke outside of any test', () => {
    const folder = openFolder()
    keep(folder, 'unhandled-errors.json', ['Error: reset\n    at socket\n    at loop'])
    const lines = linesAfter(folder, '1', { numPassedTests: 3, testResults: [] })
    assert.deepEqual(lines, ['FAILED outside > of any test: Error: reset', '      at socket', '3 passed, 1 failed'])
  })

  it('count a failure when a run failed without a report, or without a failed test', () => {
    const folder = openFolder()
    const broken = 'FAILED npm test: it ended with 1 and no failed test; what it said last tells why'
    assert.deepEqual(linesAfter(folder, '1'), [broken, '0 passed, 1 failed'])
    assert.deepEqual(linesAfter(folder, '1', { numPassedTests: 3, testResults: [] }), [broken, '3 passed, 1 failed'])
    assert.deepEqual(linesAfter(folder, '0', { numPassedTests: 3, testResults: [] }), ['3 passed, 0 failed'])
  })
})

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-count-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function linesAfter(folder: string, exitCode: string, report?: object): string[] {
  if (report) keep(folder, 'test-report.json', report)
  return execFileSync(process.execPath, [SCRIPT, exitCode], { cwd: folder, encoding: 'utf8' }).trim().split('\n')
}

function keep(folder: string, name: string, content: object): void {
  const place = join(folder, 'node_modules/.setup')
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, name), JSON.stringify(content))
}
