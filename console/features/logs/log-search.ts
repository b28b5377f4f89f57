import { z } from 'zod'
import { LOG_VIEWS, logFilter } from '../../../src/contract/console/log.ts'
import type { InputFor } from '../../api/call.ts'

const shape = logFilter.shape

/** The ranges to choose from. */
export const RANGES = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days' } as const
export type Range = keyof typeof RANGES
const RANGE_MS: Readonly<Record<Range, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 7 * 86_400_000,
  '30d': 30 * 86_400_000,
}
// Rounded, so that the same query is not repeated at every render.
const STEP_MS = 60_000

/** The filters of the list, kept in its address. */
export const logSearch = z.object({
  view: z.enum(LOG_VIEWS).catch('all'),
  state: shape.state.catch(undefined),
  result: shape.result.catch(undefined),
  open: shape.open.catch(undefined),
  status: shape.status.catch(undefined),
  connection: shape.connection.catch(undefined),
  token: shape.token.catch(undefined),
  type: shape.type.catch(undefined),
  to: shape.to.catch(undefined),
  range: z.enum(['1h', '24h', '7d', '30d']).optional().catch(undefined),
  since: shape.since.catch(undefined),
  until: shape.until.catch(undefined),
  reason: shape.reason.catch(undefined),
  text: shape.text.catch(undefined),
  id: shape.id.catch(undefined),
})
export type LogSearch = z.output<typeof logSearch>

export const PAGE_ROWS = 50

/** The query to the server. */
export function toFilter({ range, since, ...search }: LogSearch, now: number): Omit<LogSearch, 'range'> {
  const start = range ? Math.floor((now - RANGE_MS[range]) / STEP_MS) * STEP_MS : since
  return { ...search, since: start }
}

export function logInput(
  account: string,
  filter: ReturnType<typeof toFilter>,
  cursor: string | undefined,
): InputFor<'listLog'> {
  const given = { ...filter, limit: PAGE_ROWS, cursor }
  // Missing and undefined are the same for the server, but not for the types.
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { params: { account }, query }
}

/** Everything but the tab, which “Clear filters” removes. */
export const NO_FILTERS: Readonly<Record<Exclude<keyof LogSearch, 'view'>, undefined>> = {
  state: undefined,
  result: undefined,
  open: undefined,
  status: undefined,
  connection: undefined,
  token: undefined,
  type: undefined,
  to: undefined,
  range: undefined,
  since: undefined,
  until: undefined,
  reason: undefined,
  text: undefined,
  id: undefined,
}

export function isFiltered({ view: _, ...filters }: LogSearch): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}
