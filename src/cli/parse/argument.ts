import { parseCidr } from '../../config/cidr.ts'
import { findEmailFault } from '../../contract/console/form-rules.ts'
import { checkNumber } from '../../contract/field-rules.ts'
import { MESSAGE_STATES, type MessageState } from '../../core/message/message.ts'
import type { Role } from '../../core/people/role.ts'
import { readOneLine } from '../../core/read-one-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { TOKEN_EVENT_NAMES, type TokenEvent } from '../../core/token/token.ts'

// Each reads one argument or refuses with a sentence that names it.

/** For repeatable options. Appends in place: copying the list for each value would be quadratic. */
export function collect(value: string, before: string[] | undefined): string[] {
  const values = before ?? []
  values.push(value)
  return values
}

export function parseNumber(text: string): string {
  const finding = checkNumber(text)
  if (finding) throw new Refusal('number_malformed', finding.message, text)
  return text
}

export function parseName(text: string, what: string): string {
  return readOneLine(text, { what: `The name of ${what}`, most: 60 })
}

export function parseEvents(given: readonly string[] | undefined): readonly TokenEvent[] {
  return [...new Set(given ?? TOKEN_EVENT_NAMES)].map((name) => {
    const event = TOKEN_EVENT_NAMES.find((known) => known === name)
    if (!event)
      throw new Refusal('event_unknown', `There is no event “${name}”. There is: ${TOKEN_EVENT_NAMES.join(', ')}.`)
    return event
  })
}

/** Null when none is given: then the token may be used from anywhere. */
export function parseSources(given: readonly string[] | undefined): readonly string[] | null {
  if (!given) return null
  return given.map((text) => {
    const range = parseCidr(text)
    if (!range)
      throw new Refusal(
        'argument_invalid',
        `“${text}” is no address range. Write it like 203.0.113.0/24 or 2001:db8::/32, with zeros behind the prefix.`,
        '--from-address',
      )
    return range
  })
}

export function parseState(text: string | undefined): MessageState | null {
  if (text === undefined) return null
  const state = MESSAGE_STATES.find((known) => known === text.toUpperCase())
  if (!state)
    throw new Refusal(
      'argument_invalid',
      `There is no state “${text}”. There are: ${MESSAGE_STATES.join(', ')}.`,
      '--state',
    )
  return state
}

/** Null when none is given: then the list is complete. */
export function parseLimit(text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^[1-9][0-9]{0,8}$/.test(text))
    throw new Refusal('argument_invalid', `--limit must be a whole number from 1, and “${text}” is not.`, '--limit')
  return Number(text)
}

interface StatusRange {
  readonly from: number
  readonly to: number
}

/** `401` means that status, `4xx` all that begin with 4. Null when none is given: then all statuses match. */
export function parseStatuses(text: string | undefined): StatusRange | null {
  if (text === undefined) return null
  const [, kind, rest = ''] = /^([1-5])([0-9]{2}|xx)$/i.exec(text) ?? []
  if (kind === undefined)
    throw new Refusal(
      'argument_invalid',
      `--status must be an HTTP status such as 401, or a kind of them such as 4xx, and “${text}” is not.`,
      '--status',
    )
  const first = Number(kind) * 100
  return /^x/i.test(rest) ? { from: first, to: first + 99 } : { from: first + Number(rest), to: first + Number(rest) }
}

const ROLES: readonly Role[] = ['viewer', 'developer', 'owner']

export function parseEmail(text: string): string {
  const email = text.trim()
  const fault = findEmailFault(email)
  if (fault !== null) throw new Refusal('argument_invalid', `“${text}”: ${fault}`)
  return email
}

export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text)
  if (!role) throw new Refusal('argument_invalid', `“${text}” is no role. Roles are: ${ROLES.join(', ')}.`)
  return role
}
