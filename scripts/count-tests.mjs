// The last lines of `.ci/run`: what failed, then the counts. Plain JavaScript: it must also speak when nothing could be
// installed.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const REPORT = 'node_modules/.setup/test-report.json'
const UNHANDLED = 'node_modules/.setup/unhandled-errors.json'
const LINES = 8
const [, , exitCode] = process.argv

const { testResults, numPassedTests } = read(REPORT) ?? { testResults: [], numPassedTests: 0 }
const unhandled = (read(UNHANDLED) ?? []).map((text) => ({
  file: 'outside',
  test: 'of any test',
  message: firstLines(text),
}))
const failures = [...testResults.flatMap(failuresOf), ...unhandled]
for (const { file, test, message } of failures) {
  const [first = 'no message', ...more] = message
  console.log([`FAILED ${file} > ${test}: ${first}`, ...more.map((line) => `  ${line}`)].join('\n'))
}
// A run can fail without a failed test: it could not start, or something broke between two tests.
const isBroken = failures.length === 0 && exitCode !== '0'
if (isBroken) console.log(`FAILED npm test: it ended with ${exitCode} and no failed test; what it said last tells why`)
console.log(`${numPassedTests} passed, ${isBroken ? 1 : failures.length} failed`)

function read(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

/** A file that cannot be loaded has no tests to fail. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('.', name)
  const failedTests = assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => ({ file, test: test.fullName, message: firstLines(test.failureMessages.join('\n')) }))
  if (failedTests.length > 0 || status !== 'failed') return failedTests
  return [{ file, test: 'the file itself', message: firstLines(message) }]
}

/** As much as tells what was wrong, and the first place in the code. */
function firstLines(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const stack = lines.findIndex((line) => /^\s+at /.test(line))
  return lines.slice(0, stack === -1 ? LINES : Math.min(stack + 1, LINES))
}
