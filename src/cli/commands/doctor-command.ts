import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { counted } from '../../format/counted.ts'
import type { CheckStatus, Finding } from '../../operations/doctor/finding.ts'
import type { Cli } from '../cli.ts'
import { findingJson } from '../format/json-shapes.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

const ROUNDS = 5
const MOST_ROUNDS = 1_000

interface DoctorOptions extends CommonOptions {
  readonly offline?: boolean
  readonly outbound?: string
  readonly killTest?: boolean
  readonly rounds?: string
}

export function addDoctorCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('doctor')
    .description(
      'check everything that Nuncio needs: settings, disk, database, key ring, clock, networks; changes nothing, works while the service runs, and ends with 1 when there is a problem',
    )
    .option('--offline', 'ask no other machine, but the database')
    .option('--outbound <url>', 'fetch this URL as an attachment is fetched, to see that the way out is open')
    .option(
      '--kill-test',
      'prove on this machine that killing the service loses and doubles nothing, on data of its own that go afterwards; takes about half a minute',
    )
    .option('--rounds <count>', `how many times the kill test kills; without this, ${ROUNDS}`)
    .withJson('{status, findings}')
    .withExamples(
      commandLine`doctor`,
      commandLine`doctor --kill-test --rounds 20`,
      commandLine`doctor --offline --json`,
    )
    .action(async (options: DoctorOptions) => {
      const findings: Finding[] = []
      for await (const finding of cli.surroundings.examine({
        reading: cli.surroundings.readSettings(),
        isOffline: options.offline === true,
        outboundUrl: options.outbound ?? null,
        killRounds: readRounds(options),
        now: () => cli.surroundings.now(),
        onProgress: (words) => cli.surroundings.err(`${words}\n`),
      })) {
        findings.push(finding)
        if (!options.json) await cli.say(line(finding, cli.surroundings.isTerminal))
      }
      const status = worst(findings)
      if (status === 'problem') cli.exitCode = 1
      if (options.json) return cli.json({ status, findings: findings.map(findingJson) })
      await cli.say(`\n${inTheEnd(findings)}`)
    })
}

function readRounds({ killTest, rounds }: DoctorOptions): number | null {
  if (rounds !== undefined && !killTest)
    throw new Refusal('argument_invalid', '--rounds belongs to --kill-test: add that.', '--rounds')
  if (!killTest) return null
  if (rounds === undefined) return ROUNDS
  const count = /^[0-9]{1,5}$/.test(rounds) ? Number(rounds) : 0
  if (count >= 1 && count <= MOST_ROUNDS) return count
  throw new Refusal('argument_invalid', `--rounds must be a whole number from 1 to ${MOST_ROUNDS}.`, '--rounds')
}

const MARKS: Readonly<Record<CheckStatus, string>> = { ok: '✓', warning: '!', problem: '✗', skipped: '–' }
// For logs, and for searching by word.
const PLAIN: Readonly<Record<CheckStatus, string>> = {
  ok: 'ok     ',
  warning: 'warning',
  problem: 'PROBLEM',
  skipped: 'skipped',
}
const WIDEST_CHECK = 11

function line({ check, status, sentence }: Finding, isTerminal: boolean): string {
  const mark = (isTerminal ? MARKS : PLAIN)[status]
  return `${mark} ${check.padEnd(WIDEST_CHECK)}  ${printable(sentence)}`
}

function worst(findings: readonly Finding[]): CheckStatus {
  const order: readonly CheckStatus[] = ['problem', 'warning']
  return order.find((status) => findings.some((finding) => finding.status === status)) ?? 'ok'
}

function inTheEnd(findings: readonly Finding[]): string {
  const steps = findings.filter(({ nextStep }) => nextStep !== null)
  const problems = findings.filter(({ status }) => status === 'problem').length
  const warnings = findings.filter(({ status }) => status === 'warning').length
  const found = `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`
  if (problems + warnings === 0) return 'All is well.'
  if (steps.length === 0) return found
  return [
    `${found} What to do:`,
    ...steps.map((finding) => `  ${finding.check}: ${printable(finding.nextStep ?? '')}`),
  ].join('\n')
}
