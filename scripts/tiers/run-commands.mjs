// Runs npm scripts one after another, and prints one summary at the end: `run-commands.mjs test check "test:faults --quick"`. All
// of them run even if one fails, so that one run shows every failure. With `--no-skips` as the first argument a skipped test
// counts as failed: where everything can be installed, nothing may be left out. Plain JavaScript: it also works when nothing
// could be installed.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readReport, reportPath, summaryLines } from './tier-report.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const SKIPS_FAIL = process.argv[2] === '--no-skips'

const startedAt = performance.now()
const runs = process.argv.slice(SKIPS_FAIL ? 3 : 2).map(run)
const reports = runs.map(({ report }) => (SKIPS_FAIL ? failSkipped(report) : report))
console.log(['', ...timeLines(runs), ...summaryLines(reports)].join('\n'))
process.exitCode = reports.some(({ failures }) => failures.length > 0) ? 1 : 0

function run(command) {
  const [script, ...given] = command.split(' ')
  const tier = script.replace(/^test:/, '')
  rmSync(reportPath(tier), { force: true })
  const from = performance.now()
  const { status } = spawnSync('npm', ['run', script, ...(given.length > 0 ? ['--', ...given] : [])], {
    cwd: ROOT,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  return { command, status, durationMs: performance.now() - from, report: reportOf(command, tier, status) }
}

/** A command can fail without a failed test, because it could not start or is a check. That counts as one failure. */
function reportOf(command, tier, status) {
  const report = readReport(tier) ?? { tier, durationMs: 0, files: [], failures: [] }
  if (status === 0 || report.failures.length > 0) return report
  const text = `it ended with ${status} and no failed test; its last output says why`
  return { ...report, failures: [{ file: 'npm run', test: command, text }] }
}

function failSkipped(report) {
  const skipped = report.files.flatMap(({ file, skipped: tests }) =>
    tests.map((test) => ({ file, test, text: 'it was skipped, and everything must run here' })),
  )
  const files = report.files.map((file) => ({ ...file, skipped: [] }))
  return { ...report, files, failures: [...report.failures, ...skipped] }
}

function timeLines(runs) {
  const lines = runs.map(({ command, status, durationMs }) => {
    const result = status === 0 ? 'passed' : 'failed'
    return `npm run ${command}: ${result} after ${minutes(durationMs)}`
  })
  return [...lines, `all of it: ${minutes(performance.now() - startedAt)}`]
}

function minutes(ms) {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
