import { commandLine } from '../../core/command-line.ts'
import type { AccountId } from '../../core/ids.ts'
import type { ConnectionView, HoldView, TokenView } from '../../core/ports/administration.ts'
import type { AlarmView } from '../../core/ports/console/alarms.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { WebhookView } from '../../core/ports/webhooks.ts'
import { type ExplainedReason, explainReason, withCommand } from '../../core/reasons.ts'
import { renderRemedy } from '../../core/render-remedy.ts'
import { explainNoResend } from '../../core/sentences/explain-no-resend.ts'
import { explainWait } from '../../core/sentences/explain-wait.ts'
import { recipientOf } from '../../core/sentences/message-facts.ts'
import type { AlarmKind } from '../../core/watchdog/alarm-kinds.ts'
import { isoTime, relativeTime } from '../../format/instants.ts'
import type { Attention } from '../../operations/find-attention.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import type { Cli } from '../cli.ts'
import { goesOn } from '../format/goes-on.ts'
import { alarmJson, messageJson, webhookJson } from '../format/json-shapes.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { findAccountOrAll } from '../parse/find-account.ts'
import { holdText } from './hold-command.ts'
import { waitText } from './retention-command.ts'

// In more detail than an alarm does.
const LISTED_BELOW: ReadonlySet<string> = new Set<AlarmKind>(['lanes_held', 'unconfirmed', 'token_expiring'])

export function addAttentionCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('attention')
    .description(
      'show everything that needs attention: that nothing can be written, that no service is running, alarms of the watchdog, that all lanes are held, unconfirmed messages, lanes that stand still and why, tokens about to expire, webhooks that were disabled by themselves',
    )
    .option(
      '--check',
      'exit with 1 when nothing can be written, no service is running or a critical alarm is open, for a scheduled job',
    )
    .withAccount('only what concerns this account')
    .withJson('{storage, running, alarms, hold, unconfirmed, lanes, tokens, webhooks}')
    .withExamples(commandLine`attention`, commandLine`attention --json`, commandLine`attention --check`)
    .action((options: CommonOptions & { readonly check?: boolean }) =>
      cli.withAdministration(async ({ administration, lanes: views, alarms: found, webhooks, ...of }) => {
        const account = await findAccountOrAll(administration, options.account)
        const accountId = account?.id ?? null
        const now = cli.surroundings.now()
        const { findAttention } = await import('../../operations/find-attention.ts')
        const sources = { administration, lanes: views }
        const { hold, unconfirmed, status, tokens } = await findAttention(sources, accountId, now)
        const lanes = status.map(toLane)
        const alarms = await found.readOpen({ accountId, seesInstallation: true })
        // Only a living service raises alarms: of one that has died there would be none.
        const storage = await of.findStorageError()
        const isRunning = (await administration.listWorkers()).some(({ isAlive }) => isAlive)
        const isCritical = storage !== null || !isRunning || alarms.some(({ severity }) => severity === 'critical')
        if (options.check && isCritical) cli.exitCode = 1
        const disabled = await disabledWebhooks(administration, webhooks, accountId)
        if (options.json) {
          return cli.json({
            storage: storage && { cause: storage.cause },
            // A living service could not write that it lives.
            running: isRunning || storage === null ? isRunning : null,
            alarms: alarms.map(alarmJson),
            hold: hold && { since: isoTime(hold.since), reason: hold.reason },
            unconfirmed: unconfirmed.map(messageJson),
            lanes: lanes.map(laneJson),
            tokens: tokens.map(tokenJson),
            webhooks: disabled.map(webhookJson),
          })
        }
        const retention = waitText(await administration.readSweep(), now)
        await cli.say(
          inText(
            {
              storage,
              isRunning,
              holder: of.findHolder(),
              alarms,
              hold,
              retention,
              unconfirmed,
              lanes,
              tokens,
              disabled,
            },
            now,
          ),
        )
      }),
    )
}

async function disabledWebhooks(
  administration: AdministrationSession['administration'],
  webhooks: AdministrationSession['webhooks'],
  accountId: AccountId | null,
): Promise<readonly WebhookView[]> {
  const accounts = accountId === null ? (await administration.listAccounts()).map(({ id }) => id) : [accountId]
  const found: WebhookView[] = []
  for (const id of accounts) found.push(...(await webhooks.listWebhooks(id)))
  return found.filter(({ state }) => state === 'failing')
}

function toLane(connection: ConnectionView) {
  const reason = connection.reason ?? ''
  const explained = explainWait(connection, { reason, words: connection.reasonWords })
  return {
    connection: connection.number,
    account: connection.account,
    reason,
    words: connection.reasonWords,
    explained,
    until: connection.reasonUntil,
    waiting: connection.waiting,
    oldestWaitingAt: connection.oldestWaitingAt,
    nextStep: renderRemedy(withCommand(explained), connection),
  }
}

type Lane = ReturnType<typeof toLane>

function laneJson({ explained: _, ...lane }: Lane) {
  return { ...lane, until: isoTime(lane.until), oldestWaitingAt: isoTime(lane.oldestWaitingAt) }
}

function tokenJson({ id, name, account, expiresAt }: TokenView) {
  return { id, name, account, expiresAt: isoTime(expiresAt) }
}

const NOT_RUNNING = `Nuncio is not running: nothing is accepted, sent or watched. Alarms are as they were when it stopped. Start it: ${commandLine`serve`}`

function frozen(pid: number): string {
  return `Process ${pid} holds the data, but shows no sign of life: nothing is accepted, sent or watched, and alarms are as they were before. Restart that process.`
}

interface Findings {
  readonly storage: StorageError | null
  readonly isRunning: boolean
  /** The process that holds the data; null when that is not known. */
  readonly holder: number | null
  readonly alarms: readonly AlarmView[]
  readonly hold: HoldView | null
  readonly retention: string | null
  readonly unconfirmed: Attention['unconfirmed']
  readonly lanes: readonly Lane[]
  readonly tokens: readonly TokenView[]
  readonly disabled: readonly WebhookView[]
}

function inText(found: Findings, now: number): string {
  const { storage, isRunning, holder, alarms, hold, retention, unconfirmed, lanes, tokens, disabled } = found
  const parts = [
    storage ? storageText(storage) : isRunning ? '' : holder === null ? NOT_RUNNING : frozen(holder),
    part('Alarms', alarms.filter(({ kind }) => !LISTED_BELOW.has(kind)).map(alarmLine)),
    hold ? holdText(hold, now) : '',
    retention ?? '',
    part(
      `Unconfirmed: it is unknown whether these arrived. Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
      unconfirmed.map((message) => messageLine(message, now)),
    ),
    part(
      'Lanes that stand still',
      lanes.map((lane) => laneLine(lane, now)),
    ),
    part(
      'Tokens about to expire: make a new one and hand it out before then',
      tokens.map((token) => tokenLine(token, now)),
    ),
    part(
      'Webhooks that were disabled by themselves: repair the receiver, then enable them in the console',
      disabled.map(({ id, url, stateReason }) => `${id} to ${url}. ${stateReason ?? ''}`),
    ),
  ].filter((text) => text !== '')
  return parts.length === 0 ? 'Nothing needs your attention.' : parts.join('\n\n')
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

function messageLine(message: Attention['unconfirmed'][number], now: number): string {
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

function laneLine(lane: Lane, now: number): string {
  const { connection, account, waiting, oldestWaitingAt, reason, until, nextStep } = lane
  const since = oldestWaitingAt === null ? '' : `, the oldest accepted ${relativeTime(oldestWaitingAt, now)}`
  const { cause, quote } = lane.explained
  const ends = until === null ? '' : ` It goes on ${goesOn({ reason, until }, now)}.`
  return `${connection} (${account}): ${waiting} waiting${since}. ${cause}${saidText(quote)}${ends} ${nextStep}`
}

function tokenLine({ name, account, id, expiresAt }: TokenView, now: number): string {
  return `“${name}” (${id}) of ${account} expires ${relativeTime(expiresAt, now)}.`
}
