// The last line of `.ci/run`. Plain JavaScript: it must also speak when nothing could be installed.
import { existsSync, readFileSync } from 'node:fs'

const REPORT = 'node_modules/.setup/test-report.json'
const [, , exitCode] = process.argv

const { passed, failed } = existsSync(REPORT)
  ? count(JSON.parse(readFileSync(REPORT, 'utf8')))
  : { passed: 0, failed: 0 }
// A run can fail without a failed test: it could not start, or something broke between two tests.
console.log(`${passed} passed, ${failed === 0 && exitCode !== '0' ? 1 : failed} failed`)

function count({ numPassedTests, numFailedTests, testResults }) {
  // A file that cannot be loaded has no tests to fail.
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  )
  return { passed: numPassedTests, failed: numFailedTests + broken.length }
}
