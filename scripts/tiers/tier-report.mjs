// The result of a tier of tests, and its summary. Plain JavaScript without packages: the sum over several tiers is also printed
// when nothing could be installed.
import { existsSync, readFileSync } from 'node:fs'

/**
 * @typedef {{ file: string, test: string, text: string }} FailedTest `text` is the error with its stack
 * @typedef {{ file: string, durationMs: number, passed: number, skipped: string[] }} FileReport
 * @typedef {{ tier: string, durationMs: number, files: FileReport[], failures: FailedTest[] }} TierReport
 */

const SLOWEST = 10
const LINES_OF_A_FAILURE = 8
const FOLDER = new URL('../../node_modules/.setup/tests/', import.meta.url)

/** @param {string} tier */
export function reportPath(tier) {
  return new URL(`${tier}.json`, FOLDER)
}

/**
 * The report of the last run of a tier; null: that run did not finish.
 * @param {string} tier
 * @returns {TierReport | null}
 */
export function readReport(tier) {
  const path = reportPath(tier)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null
}

/**
 * What failed, what was skipped and why, the slowest files, and what ran. The last line is the sum.
 * @param {readonly TierReport[]} reports
 */
export function summaryLines(reports) {
  const files = reports.flatMap((report) => report.files)
  return [
    ...reports.flatMap((report) => report.failures).flatMap(failureLines),
    ...files.flatMap(({ file, skipped }) => skipped.map((test) => `SKIPPED ${file} > ${test}`)),
    ...slowestLines(files),
    // A check has no test files.
    ...reports.filter((report) => report.files.length > 0).map(tierLine),
    sumLine(reports),
  ]
}

/** @param {FailedTest} failure */
function failureLines({ file, test, text }) {
  const [first = 'no message', ...more] = firstLines(text)
  return [`FAILED ${file} > ${test}: ${first}`, ...more.map((line) => `  ${line}`)]
}

/**
 * The start of an error: enough to see what is wrong, and the first place in our code.
 * @param {string} text
 */
function firstLines(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const stack = lines.findIndex((line) => /^\s+at /.test(line))
  return lines.slice(0, stack === -1 ? LINES_OF_A_FAILURE : Math.min(stack + 1, LINES_OF_A_FAILURE))
}

/** @param {readonly FileReport[]} files */
function slowestLines(files) {
  const slowest = files.toSorted((one, other) => other.durationMs - one.durationMs).slice(0, SLOWEST)
  if (slowest.length === 0) return []
  return ['slowest files:', ...slowest.map(({ file, durationMs }) => `${seconds(durationMs).padStart(9)}  ${file}`)]
}

/** @param {TierReport} report */
function tierLine(report) {
  const { passed, skipped, failed } = countsOf([report])
  const files = report.files.length
  return `${report.tier}: ${files} ${files === 1 ? 'file' : 'files'}, ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds(report.durationMs)}`
}

/** @param {readonly TierReport[]} reports */
function sumLine(reports) {
  const { passed, failed, skipped } = countsOf(reports)
  const sum = `${passed} passed, ${failed} failed`
  return skipped > 0 ? `${sum}, ${skipped} skipped` : sum
}

/** @param {readonly TierReport[]} reports */
function countsOf(reports) {
  const files = reports.flatMap((report) => report.files)
  return {
    passed: files.reduce((sum, { passed }) => sum + passed, 0),
    skipped: files.reduce((sum, { skipped }) => sum + skipped.length, 0),
    failed: reports.reduce((sum, { failures }) => sum + failures.length, 0),
  }
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
