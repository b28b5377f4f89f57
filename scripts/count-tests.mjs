// The last lines of `.ci/run`: what failed, then the counts. Plain JavaScript: it must also speak when nothing could be
// installed.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const REPORT = 'node_modules/.setup/test-report.json'
const [, , exitCode] = process.argv

const { testResults, numPassedTests } = existsSync(REPORT)
  ? JSON.parse(readFileSync(REPORT, 'utf8'))
  : { testResults: [], numPassedTests: 0 }
const failures = testResults.flatMap(failuresOf)
for (const { file, test, message } of failures) console.log(`FAILED ${file} > ${test}: ${message}`)
// A run can fail without a failed test: it could not start, or something broke between two tests.
const failed = failures.length === 0 && exitCode !== '0' ? 1 : failures.length
console.log(`${numPassedTests} passed, ${failed} failed`)

/** A file that cannot be loaded has no tests to fail. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('.', name)
  const failedTests = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({ file, test: test.fullName, message: firstLine(test.failureMessages.join('\n')) }))
  if (failedTests.length > 0 || status !== 'failed') return failedTests
  return [{ file, test: 'the file itself', message: firstLine(message) }]
}

function firstLine(text) {
  return text.split('\n').find((line) => line.trim() !== '') ?? 'no message'
}
