import type { LogFilterOutput } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import type { TokenId } from '../../../core/ids.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'

export function readFilter(given: LogFilterOutput, role: Role): LogFilter {
  const isMasked = role === 'viewer'
  // With enough searches a viewer could find the masked digits.
  if (isMasked && given.to !== undefined) {
    throw new Refusal(
      'role_too_low',
      'Viewers do not see recipients, so they cannot search by them. Take the recipient out of the filter.',
    )
  }
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
    tokenIds: token === null ? null : [token as TokenId],
    type,
    recipient: to === undefined ? null : { digits: to.replace('*', ''), isWhole: !to.endsWith('*') },
    since: given.since ?? null,
    until: given.until ?? null,
    reason,
    text: text ?? null,
    isMasked,
    id,
  }
}

function readStatus(status: string): NonNullable<LogFilter['statuses']> {
  return { from: Number(status.replaceAll('x', '0')), to: Number(status.replaceAll('x', '9')) }
}
