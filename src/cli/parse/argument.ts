import { parseCidr } from '../../config/cidr.ts'
import { judgeNumber } from '../../contract/field-rules.ts'
import { MESSAGE_STATES, type MessageState } from '../../core/message/message.ts'
import { Refusal } from '../../core/refusals.ts'
import { TOKEN_EVENT_NAMES, type TokenEvent } from '../../core/token/token.ts'

// Each reads one argument or refuses with a sentence that names it.

/** For options that may be given several times. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}

export function parseNumber(text: string): string {
  const finding = judgeNumber(text)
  if (finding) throw new Refusal('number_malformed', finding.message, text)
  return text
}

const LONGEST_NAME = 60

/** A name of an account or a token: people see it in lists, so it must be readable there. */
export function parseName(text: string, what: string): string {
  const name = text.trim()
  if (
    name === '' ||
    Array.from(name).length > LONGEST_NAME ||
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name) ||
    !name.isWellFormed()
  ) {
    throw new Refusal(
      'argument_invalid',
      `The name of ${what} must have 1 to ${LONGEST_NAME} characters, and no control characters.`,
    )
  }
  return name
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
        `“${text}” is no address range. Write it like 203.0.113.0/24 or 2001:db8::/32.`,
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
