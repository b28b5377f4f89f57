import type { AuditKind } from '../../../src/contract/console/audit.ts'
import { capitalized } from '../../../src/format/capitalized.ts'
import { durationText } from '../../../src/format/durations.ts'
import { localDateTime } from '../../components/instants.ts'
import { eventLabel } from '../tokens/token-labels.ts'

/** Labels of actions. */
const LABELS: Readonly<Record<string, string>> = {
  'sign-in': 'Signed in',
  'sign-in.failed': 'Failed to sign in: wrong password',
  'sign-in.code-wrong': 'Failed to sign in: wrong code',
  'sign-out': 'Signed out',
  'step-up': 'Confirmed that it is them',
  'step-up.failed': 'Failed to confirm that it is them',
  'session.end': 'Ended a session',
  'session.end-others': 'Ended all other sessions',
  'password.change': 'Changed a password',
  'person.add': 'Came to this installation',
  'person.rename': 'Changed their name',
  'member.add': 'Joined the account',
  'member.remove': 'Removed a person',
  'member.change-role': 'Changed a role',
  'link.create.invitation': 'Invited a person',
  'link.create.reset-password': 'Made a link to reset a password',
  'link.create.set-up': 'Made a set-up link',
  'invitation.withdraw': 'Withdrew an invitation',
  'second-factor.add-code-app': 'Set up an app for codes',
  'second-factor.remove-code-app': 'Removed an app for codes',
  'second-factor.remove-all': 'Removed all second factors',
  'passkey.add': 'Added a passkey',
  'passkey.rename': 'Renamed a passkey',
  'passkey.remove': 'Removed a passkey',
  'recovery-codes.replace': 'Made recovery codes',
  'recovery-codes.use': 'Used a recovery code',
  'account.create': 'Made the account',
  'account.rename': 'Renamed the account',
  'account.require-second-factor': 'Began to require a second factor',
  'account.stop-requiring-second-factor': 'Stopped requiring a second factor',
  'token.create': 'Created a token',
  'token.delete': 'Deleted a token',
  'token.rename': 'Renamed a token',
  'token.rotate': 'Rotated a token',
  'connection.add': 'Added a connection',
  'connection.change': 'Changed a connection',
  'connection.pause': 'Paused a connection',
  'connection.resume': 'Resumed a connection',
  'connection.remove': 'Removed a connection',
  'webhook.add': 'Added a webhook',
  'webhook.change': 'Changed a webhook',
  'webhook.enable': 'Enabled a webhook',
  'webhook.disable': 'Disabled a webhook',
  'webhook.rotate': 'Made a new secret for a webhook',
  'webhook.remove': 'Deleted a webhook',
  'webhook.test': 'Sent a test to a webhook',
  'webhook.replay': 'Replayed deliveries of a webhook',
  'connection.cancel-waiting': 'Cancelled waiting messages',
  'connection.confirm-backlog': 'Approved a backlog',
  'connection.end-wait': 'Ended a wait',
  'connection.pair': 'Began to link a phone',
  'connection.unlink': 'Unlinked a phone',
  'connection.use-here': 'Logged a number in again',
  'message.end-wait': 'Retried a message now',
  'message.cancel': 'Cancelled a message',
  'message.retry': 'Sent a message again',
  'message.resolve': 'Resolved an unconfirmed message',
  'log.export': 'Took a copy of the API log',
  'audit.export': 'Took a copy of the audit log',
  'sandbox.clear': 'Cleared a sandbox inbox',
  'message.mark-read': 'Marked a sandbox chat as read',
  'recipient.block': 'Blocked a recipient',
  'recipient.unblock': 'Unblocked a recipient',
  'retention.change': 'Changed how long data is kept',
  'retention.begin': 'Began to delete old data',
  'recipient.export': 'Took a copy of all that is known of a recipient',
  'recipient.erase': 'Erased a recipient',
  'hold.place': 'Held all numbers',
  'hold.release': 'Released all numbers',
}

export function auditLabels(action: string): string {
  const known = LABELS[action]
  if (known) return known
  const words = action.replaceAll(/[.-]/g, ' ')
  return capitalized(words)
}

interface Named {
  /** What stands before the facts. */
  readonly objectName: string | null
  /** Numbers of connections by their ids. */
  readonly numbers: ReadonlyMap<string, string>
}

/** The facts of an entry that say more than its name does, with numbers in place of ids. */
export function auditFacts(
  detail: Readonly<Record<string, unknown>> | null,
  { objectName, numbers }: Named,
): readonly string[] {
  return Object.entries(detail ?? {}).flatMap(([name, value]) => {
    if (value === null || value === '' || value === objectName) return []
    // One recipient at a time, but from a list.
    if ((name === 'blocked' || name === 'unblocked') && value === 1) return []
    const named = Array.isArray(value) ? value.map((one: unknown) => numbers.get(String(one)) ?? one) : value
    return [auditFact(name, named)]
  })
}

/** A fact of an entry: times as people read them, lists without brackets, names in words. */
export function auditFact(name: string, value: unknown): string {
  const label = labelOf(name.replace(/At$/, ''))
  if (name.endsWith('At') && typeof value === 'number') return `${label}: ${localDateTime(value)}`
  if (Array.isArray(value)) return `${label}: ${value.map((one) => textOf(one)).join(', ')}`
  return `${label}: ${textOf(value)}`
}

const FACT_LABELS: Readonly<Record<string, string>> = { kinds: 'notices' }

function labelOf(name: string): string {
  const label = FACT_LABELS[name]
  if (label !== undefined) return label
  return name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)
}

function textOf(value: unknown): string {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return value.toLocaleString('en')
  if (typeof value === 'string') return eventLabel(value)
  return typeof value === 'object' ? partsText(value) : ''
}

/** Such as the settings of a lane: "time to live 24 h, least gap 40 s, quiet hours none". */
function partsText(parts: object): string {
  return Object.entries(parts)
    .map(([name, value]) =>
      name.endsWith('Ms') && typeof value === 'number'
        ? `${labelOf(name.slice(0, -2))} ${durationText(value)}`
        : `${labelOf(name)} ${textOf(value)}`,
    )
    .join(', ')
}

const KINDS: Readonly<Record<AuditKind, string>> = {
  'sign-in': 'Signing in',
  people: 'People',
  account: 'Account and copies',
  tokens: 'API tokens',
  connections: 'Connections',
  messages: 'Messages',
  recipients: 'Recipients',
  webhooks: 'Webhooks',
}

export const AUDIT_CHOICES = Object.entries(KINDS).map(([value, label]) => ({ value: value as AuditKind, label }))

/** The people of the account and the command line; also who was chosen by the address, but has left. */
export function actorChoices(emails: readonly string[], chosen: string | undefined) {
  const others = chosen === undefined || chosen === 'cli' || emails.includes(chosen) ? [] : [chosen]
  return [
    { value: '', label: 'Everyone' },
    ...[...emails, ...others].map((email) => ({ value: email, label: email })),
    { value: 'cli', label: 'The command line' },
  ]
}

const PAGES = [
  [/^con_/, '/a/$account/connections/$id'],
  [/^tok_/, '/a/$account/developer/tokens/$id'],
  [/^whk_/, '/a/$account/developer/webhooks/$id'],
  [/^[\da-f]{8}-[\da-f]{4}-/, '/a/$account/developer/logs/$id'],
] as const

/** The page of what was changed; null: it has none. */
export function pageOfObject(object: string): (typeof PAGES)[number][1] | null {
  return PAGES.find(([pattern]) => pattern.test(object))?.[1] ?? null
}
