import { commandLine } from '../../core/command-line.ts'
import type { RetentionState } from '../../core/ports/retention.ts'
import { Refusal } from '../../core/refusals.ts'
import type { SweepTimes } from '../../core/retention/plan-sweep.ts'
import { daysText, type OwnTimes, timesOf } from '../../core/retention/retention-times.ts'
import { isoTime, plainTime, relativeTime } from '../../format/instants.ts'
import { sweepTimesOf } from '../../server/wiring/retention-job.ts'
import { ACTOR, type Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { findAccount } from '../parse/find-account.ts'

type RetentionOptions = CommonOptions & {
  readonly bodies?: string
  readonly messages?: string
  readonly begin?: boolean
}

export function addRetentionCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('retention')
    .description('show how long what is kept, and when what is old was last deleted; an account can keep less')
    .withAccount('the account whose own times are shown or changed')
    .option('--bodies <days>', 'keep texts, captions, URLs and file names of the account so many days, or “default”')
    .option('--messages <days>', 'keep its messages and its part of the API log so many days, or “default”')
    .option('--begin', 'do not wait any longer after a copy or a long pause: what is old goes with the next sweep')
    .withJson('{bodiesDays, messagesDays, auditDays, own, waitsUntil, waitsFor, last}')
    .withExamples(
      commandLine`retention`,
      commandLine`retention --account Acme --bodies 7`,
      commandLine`retention --begin`,
    )
    .action((options: RetentionOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const times = sweepTimesOf(cli.settings())
        const changes = options.bodies !== undefined || options.messages !== undefined
        if (changes && options.account === undefined)
          throw new Refusal(
            'argument_invalid',
            'Say whose: add --account NAME. For all accounts set NUNCIO_RETENTION_BODIES_DAYS and NUNCIO_RETENTION_MESSAGES_DAYS.',
          )
        const account = options.account === undefined ? null : await findAccount(administration, options.account)
        let own = account && (await administration.readOwnTimes(account.id))
        if (account && own && changes) {
          const wanted = {
            bodiesDays: daysOf(options.bodies, own.bodiesDays),
            messagesDays: daysOf(options.messages, own.messagesDays),
          }
          own = await administration.setOwnTimes({ accountId: account.id, own: wanted, installation: times }, ACTOR)
        }
        if (options.begin) await administration.beginRetention(ACTOR)
        const sweep = await administration.readSweep()
        if (options.json) return cli.json(retentionJson({ times, own, sweep }))
        await cli.say(inText({ times, own, sweep }, cli.surroundings.now()))
      }),
    )
}

interface Kept {
  readonly times: SweepTimes
  readonly own: OwnTimes | null
  readonly sweep: RetentionState
}

function daysOf(text: string | undefined, before: number | null): number | null {
  if (text === undefined) return before
  if (text === 'default') return null
  if (/^[0-9]{1,5}$/.test(text)) return Number(text)
  throw new Refusal('argument_invalid', `“${text}” is no number of days. Give a whole number, or “default”.`)
}

function retentionJson({ times, own, sweep: { beginsAt, waitsFor, last } }: Kept) {
  return {
    ...times,
    own,
    waitsUntil: waitsFor === null ? null : isoTime(beginsAt),
    waitsFor,
    last: last && { ...last, begunAt: isoTime(last.begunAt), endedAt: isoTime(last.endedAt) },
  }
}

function inText({ times, own, sweep }: Kept, now: number): string {
  const { bodiesDays, messagesDays } = own ? timesOf(times, own) : times
  return [
    `Texts, captions, URLs and file names are kept ${daysText(bodiesDays)}, messages and the API log ${daysText(messagesDays)}, the audit log ${daysText(times.auditDays)}.`,
    'Waiting and unresolved messages stay.',
    waitText(sweep, now) ?? lastText(sweep, now),
  ].join('\n')
}

/** Also for `nuncio attention`. Null: nothing is waited for. */
export function waitText({ beginsAt, waitsFor }: RetentionState, now: number): string | null {
  if (waitsFor === null || beginsAt <= now) return null
  const why =
    waitsFor === 'pause'
      ? 'Nothing was deleted for a long time, or the clock has leapt'
      : 'This installation was copied from another'
  return `${why}: it begins ${relativeTime(beginsAt, now)}, at ${plainTime(beginsAt)}. To keep more, set NUNCIO_RETENTION_BODIES_DAYS and NUNCIO_RETENTION_MESSAGES_DAYS before; to begin now: ${commandLine`retention --begin`}`
}

function lastText({ last }: RetentionState, now: number): string {
  if (!last) return 'Nothing was checked yet. A running service checks every hour.'
  const removed = Object.entries(last.removed).filter(([, count]) => count > 0)
  const what = removed.length === 0 ? 'nothing' : removed.map(([kind, count]) => `${count} ${kind}`).join(', ')
  return `What is old was last deleted ${relativeTime(last.endedAt, now)}: ${what}, in ${last.tookMs} ms of work. The next time is within an hour of a running service.`
}
