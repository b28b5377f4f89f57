import { commandLine } from '../../core/command-line.ts'
import { type AttentionItem, findAttention } from '../../core/find-attention.ts'
import type { AccountId } from '../../core/ids.ts'
import type { UnresolvedFacts } from '../../core/message/resend-facts.ts'
import type { HoldView, MessageView } from '../../core/ports/administration.ts'
import type { AlarmView } from '../../core/ports/console/alarms.ts'
import type { WaitingLane } from '../../core/ports/console/overview.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import { type ExplainedReason, explainReason, withCommand } from '../../core/reasons.ts'
import { explainNoResend } from '../../core/sentences/explain-no-resend.ts'
import { recipientOf } from '../../core/sentences/message-facts.ts'
import type { AlarmKind } from '../../core/watchdog/alarm-kinds.ts'
import { isoTime, relativeTime } from '../../format/instants.ts'
import type { Cli } from '../cli.ts'
import { alarmJson, messageJson, webhookJson } from '../format/json-shapes.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { findAccountOrAll } from '../parse/find-account.ts'
import { holdText } from './hold-command.ts'
import { waitText } from './retention-command.ts'

// In more detail than an alarm does.
const LISTED_BELOW: ReadonlySet<string> = new Set<AlarmKind>(['lanes_held', 'unconfirmed'])

export function addAttentionCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('attention')
    .description(
      'show everything that needs attention: that nothing can be written, that no service is running, open alarms, that all lanes are held, unconfirmed messages, what failed or expired within seven days, numbers that only a person can start again, webhooks that were disabled by themselves or have failed for 15 minutes. Messages to blocked recipients are left out. The page “Needs attention” of the console lists the same',
    )
    .option(
      '--check',
      'exit with 1 when nothing can be written, no service is running or a critical alarm is open, for a scheduled job',
    )
    .withAccount('only what concerns this account')
    .withJson('{storage, running, alarms, hold, unconfirmed, lanes, messages, webhooks}')
    .withExamples(commandLine`attention`, commandLine`attention --json`, commandLine`attention --check`)
    .action((options: CommonOptions & { readonly check?: boolean }) =>
      cli.withAdministration(async (session) => {
        const { administration } = session
        const account = await findAccountOrAll(administration, options.account)
        const accountId = account?.id ?? null
        const accounts = account ? [account] : await administration.listAccounts()
        const accountIds = accounts.map(({ id }) => id)
        const now = cli.surroundings.now()
        const alarmsOf = { accountId, seesInstallation: true }
        const found = await findAttention(session, { accountIds, alarmsOf, now })
        const items = found.filter(({ seen }) => seen === null)
        // Only a living service raises alarms, so a dead one must be reported here.
        const storage = await session.findStorageError()
        const isRunning = (await administration.listWorkers()).some(({ isAlive }) => isAlive)
        const isCritical = storage !== null || !isRunning || items.some(({ alarm }) => alarm?.severity === 'critical')
        if (options.check && isCritical) cli.exitCode = 1
        const hold = await administration.readHold()
        const unconfirmed = await administration.listUnresolved(accountId)
        const names = new Map(accounts.map(({ id, name }) => [id, name]))
        if (options.json) {
          return cli.json({
            storage: storage && { cause: storage.cause },
            // A living service could not write its heartbeat.
            running: isRunning || storage === null ? isRunning : null,
            alarms: items.flatMap(({ alarm }) => (alarm ? [alarmJson(alarm)] : [])),
            hold: hold && { since: isoTime(hold.since), reason: hold.reason },
            unconfirmed: unconfirmed.map(messageJson),
            ...itemsJson(items, names),
          })
        }
        const retention = waitText(await administration.readSweep(), now)
        const holder = session.findHolder()
        await cli.say(inText({ storage, isRunning, holder, items, names, hold, retention, unconfirmed }, now))
      }),
    )
}

type Names = ReadonlyMap<AccountId, string>

function itemsJson(items: readonly AttentionItem[], names: Names) {
  const accountOf = ({ accountId }: AttentionItem) => (accountId && names.get(accountId)) ?? null
  return {
    lanes: items.flatMap((item) => (item.lane ? [laneJson(item.lane, { ...item, account: accountOf(item) })] : [])),
    messages: items.flatMap((item) => {
      if (!item.messages) return []
      const { state, reason, count, latestAt } = item.messages
      const { title: sentence, nextStepByCommand: nextStep } = item
      return [{ account: accountOf(item), state, reason, count, latestAt: isoTime(latestAt), sentence, nextStep }]
    }),
    webhooks: items.flatMap(({ webhook }) => (webhook ? [webhookJson(webhook)] : [])),
  }
}

function laneJson(
  { number, reason, words, until, waiting, oldestAt }: WaitingLane,
  { account, nextStepByCommand: nextStep }: { readonly account: string | null; readonly nextStepByCommand: string },
) {
  const times = { until: isoTime(until), oldestWaitingAt: isoTime(oldestAt) }
  return { connection: number, account, reason, words, ...times, waiting, nextStep }
}

const NOT_RUNNING = `Nuncio is not running: nothing is accepted, sent or watched. Alarms are as they were when it stopped. Start it: ${commandLine`serve`}`

function frozen(pid: number): string {
  return `Process ${pid} holds the data, but shows no sign of life: nothing is accepted, sent or watched, and alarms are as they were before. Restart that process.`
}

type UnresolvedMessage = MessageView & UnresolvedFacts

interface Findings {
  readonly storage: StorageError | null
  readonly isRunning: boolean
  /** The process that holds the data; null when that is not known. */
  readonly holder: number | null
  readonly items: readonly AttentionItem[]
  readonly names: Names
  readonly hold: HoldView | null
  readonly retention: string | null
  readonly unconfirmed: readonly UnresolvedMessage[]
}

function inText(found: Findings, now: number): string {
  const { storage, isRunning, holder, items, names, hold, retention, unconfirmed } = found
  const alarms = items.flatMap(({ alarm }) => (alarm && !LISTED_BELOW.has(alarm.kind) ? [alarmLine(alarm)] : []))
  const linesOf = (about: 'lane' | 'messages' | 'webhook') =>
    items.filter((item) => item[about] !== null).map((item) => itemLine(item, names, now))
  const parts = [
    storage ? storageText(storage) : isRunning ? '' : holder === null ? NOT_RUNNING : frozen(holder),
    part('Alarms', alarms),
    hold ? holdText(hold, now) : '',
    retention ?? '',
    part(
      `Unconfirmed: it is unknown whether these arrived. Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
      unconfirmed.map((message) => messageLine(message, now)),
    ),
    part('Failed or expired within seven days', linesOf('messages')),
    part('Numbers that need you', linesOf('lane')),
    part('Webhooks that were disabled by themselves', linesOf('webhook')),
  ].filter((text) => text !== '')
  return parts.length === 0 ? 'Nothing needs your attention.' : parts.join('\n\n')
}

function itemLine(
  { title, nextStepByCommand, latestAt, accountId, messages }: AttentionItem,
  names: Names,
  now: number,
) {
  const account = accountId === null ? '' : ` (${names.get(accountId) ?? ''})`
  const when = messages ? 'The latest' : 'Since'
  return `${title.replace(/\.$/, '')}${account}. ${when}: ${relativeTime(latestAt, now)}. ${nextStepByCommand}`
}

function storageText({ cause: words }: StorageError): string {
  const explained = explainReason('storage_unavailable', { words })
  return `${explained.cause} ${withCommand(explained)}`
}

function part(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [title, ...lines.map((line) => `  ${printable(line)}`)].join('\n')
}

function alarmLine(alarm: AlarmView): string {
  const { severity, account, cause } = alarm
  return `${severity}${account === null ? '' : ` (${account})`}: ${cause} ${withCommand(alarm)}`
}

function messageLine(message: UnresolvedMessage, now: number): string {
  const { id, connection, acceptedAt, state, words, channel } = message
  const to = recipientOf({ message })
  const reason = message.reason ?? 'result_unknown'
  const { cause, quote } = explainReason(reason, { state, words, channel, facts: { number: connection, to } })
  const bar = explainNoResend(message, message)
  const more = `${saidText(quote)}${bar === null ? '' : ` ${bar.nextStep}`}`
  return `${id} from ${connection} to ${to ?? 'an erased recipient'}, accepted ${relativeTime(acceptedAt, now)}. ${cause}${more}`
}

function saidText(quote: ExplainedReason['quote']): string {
  return quote === null ? '' : ` ${quote.speaker}: “${quote.words}”`
}
