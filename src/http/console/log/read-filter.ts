import type { LogFilterOutput } from '../../../contract/console/log.ts'
import type { TokenId } from '../../../core/ids.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'

// What a viewer sees of a number, so that nobody finds the rest by asking for ever longer beginnings.
const SHOWN_DIGITS = 4

export function readFilter(given: LogFilterOutput, isMasked: boolean): LogFilter {
  const {
    view,
    state = null,
    result = null,
    status,
    connection = null,
    token = null,
    type = null,
    to,
    reason = null,
    text,
    id = null,
  } = given
  return {
    view,
    state,
    result,
    isOpen: given.open === 'yes',
    statuses: status === undefined ? null : readStatus(status),
    connection,
    tokenId: token as TokenId | null,
    type,
    recipient: to === undefined ? null : readRecipient(to, isMasked),
    since: given.since ?? null,
    until: given.until ?? null,
    reason,
    text: text === undefined ? null : { words: text, in: isMasked ? 'codes' : 'codes and words' },
    id,
  }
}

function readStatus(status: string): NonNullable<LogFilter['statuses']> {
  return { from: Number(status.replaceAll('x', '0')), to: Number(status.replaceAll('x', '9')) }
}

function readRecipient(to: string, isMasked: boolean): NonNullable<LogFilter['recipient']> {
  const isWhole = !to.endsWith('*')
  const digits = to.replace('*', '')
  if (isMasked && !isWhole && digits.length > SHOWN_DIGITS) {
    throw new Refusal(
      'input_invalid',
      `Your role shows only the first ${SHOWN_DIGITS} digits of recipients: give at most so many before the *, or the whole number.`,
    )
  }
  return { digits, isWhole }
}
