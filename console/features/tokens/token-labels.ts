import type { TokenActivityReply, TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { localDateTime } from '../../components/instants.ts'

const DAY_MS = 86_400_000
// A token of a week would otherwise be about to expire from the start.
const SOON_MS = 7 * DAY_MS
const SOON_SHARE = 5
const IDLE_MS = 30 * DAY_MS

// Labels for people; the contract's table is for the server.
const EVENT_LABELS: Readonly<Record<string, string>> = { 'messaging.send_message': 'Messaging > Send Message' }

export function eventLabel(event: string): string {
  return EVENT_LABELS[event] ?? event
}

// What a token with the event may do.
const EVENT_ACTS: Readonly<Record<string, string>> = { 'messaging.send_message': 'send messages' }

interface TokenChoice {
  readonly name: string
  readonly events: readonly string[]
  /** Null: all of the account, also those of later. */
  readonly numbers: readonly string[] | null
  readonly sourceRanges: readonly string[] | null
  /** Null: not chosen yet. */
  readonly end: number | null
}

/** What a new token may do, in one sentence. */
export function choiceText({ name, events, numbers, sourceRanges, end }: TokenChoice): string {
  const named = name.trim() === '' ? 'This token' : name.trim()
  if (events.length === 0) return `${named} may do nothing: each request with it is refused.`
  const acts = events.map((event) => EVENT_ACTS[event] ?? event).join(', ')
  const from = numbers === null ? 'all numbers of this account, new ones too' : numbers.join(', ')
  const callers = sourceRanges === null ? '' : `, only when called from ${sourceRanges.join(', ')}`
  return `${named} may ${acts} from ${from}${callers}${end === null ? '' : `, until ${localDateTime(end)}`}.`
}

/** “929 accepted, 23 refused”. */
export function usageText({
  requests,
  accepted,
  refused,
}: Pick<TokenActivityReply, 'requests' | 'accepted' | 'refused'>) {
  const repeats = requests - accepted - refused
  const parts = [`${accepted.toLocaleString('en')} accepted`, `${refused.toLocaleString('en')} refused`]
  return [...parts, ...(repeats > 0 ? [counted(repeats, 'repeat')] : [])].join(', ')
}

/** The stored beginning of a token. */
export function tokenStart(prefix: string): string {
  return `nco_${prefix}…`
}

/** The restrictions of a token, in a few words. */
export function limitLabel({ connections, sourceRanges }: Pick<TokenRowReply, 'connections' | 'sourceRanges'>): string {
  const parts = [
    connections && (connections.length === 1 ? (connections[0]?.number ?? '') : `${connections.length} connections`),
    sourceRanges && (sourceRanges.length === 1 ? (sourceRanges[0] ?? '') : `${sourceRanges.length} address ranges`),
  ]
  return parts.filter((part) => part !== null).join(', ') || 'None'
}

export type TokenStatus = 'deleted' | 'expired' | 'ends-today' | 'ends-soon' | 'active'

export type TokenTimes = Pick<TokenRowReply, 'createdAt' | 'deletedAt' | 'expiresAt'>

export function tokenStatusOf({ createdAt, deletedAt, expiresAt }: TokenTimes): TokenStatus {
  if (deletedAt !== null) return 'deleted'
  const left = expiresAt - Date.now()
  if (left <= 0) return 'expired'
  if (left < DAY_MS) return 'ends-today'
  return left < Math.min(SOON_MS, (expiresAt - createdAt) / SOON_SHARE) ? 'ends-soon' : 'active'
}

export type TokenChange = 'rename' | 'replace' | 'delete'
export type TokenAction = 'details' | 'requests' | TokenChange

/** What the menu of a token offers; deleting it comes last. */
export function rowActions(
  token: TokenTimes,
  mayChange: boolean,
): readonly { readonly action: TokenAction; readonly label: string }[] {
  const status = tokenStatusOf(token)
  const reading = [
    { action: 'details', label: 'Details' },
    { action: 'requests', label: 'Show its requests' },
  ] as const
  if (!mayChange || status === 'deleted') return reading
  return [
    ...reading,
    { action: 'rename', label: 'Rename…' },
    ...(status === 'expired' ? [] : [{ action: 'replace', label: 'Rotate…' } as const]),
    { action: 'delete', label: 'Delete…' },
  ]
}

/** Not used for so long that it may no longer be needed. */
export function isIdle({ lastUsedAt, createdAt, deletedAt }: TokenRowReply): boolean {
  return deletedAt === null && (lastUsedAt ?? createdAt) < Date.now() - IDLE_MS
}

/** “1 request”, “214 requests”. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
