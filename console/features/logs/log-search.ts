import { z } from 'zod'
import { LOG_VIEWS, logFilter } from '../../../src/contract/console/log.ts'
import type { Totals } from '../../../src/contract/console/overview.ts'
import type { StateGroup } from '../../app/theme.ts'
import { digitsOfNumber } from '../../components/number-digits.ts'
import type { STATE_LABELS } from './log-labels.ts'

const shape = logFilter.shape

/** The ranges to choose from. */
export const RANGES = { '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days' } as const
export type Range = keyof typeof RANGES
/** `all`: without an end. */
export const SHOWN_RANGES = ['1h', '24h', '7d', '30d', 'all'] as const
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
  range: z.enum(SHOWN_RANGES).optional().catch(undefined),
  since: shape.since.catch(undefined),
  until: shape.until.catch(undefined),
  reason: shape.reason.catch(undefined),
  text: shape.text.catch(undefined),
  id: shape.id.catch(undefined),
})
export type LogSearch = z.output<typeof logSearch>

/** The query to the server. */
export function toFilter(search: LogSearch, now: number): Omit<LogSearch, 'range'> {
  const { range: _, since, ...others } = search
  const range = rangeOf(search)
  const start = range === null || range === 'all' ? since : Math.floor((now - RANGE_MS[range]) / STEP_MS) * STEP_MS
  return { ...others, since: start }
}

/** The range that is shown: a day, but everything while a search is on. Null: from and to are given. */
export function rangeOf({ range, since, until, to, text, id, reason, ...others }: LogSearch): Range | 'all' | null {
  if (range) return range
  if (since !== undefined || until !== undefined) return null
  const isSearch = [to, text, id, reason].some((value) => value !== undefined) || others.view === 'attention'
  return isSearch ? 'all' : '24h'
}

// The id of a message, and that of a request.
const ID = /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{14,}|[0-9a-z]{8}-[0-9a-z]{1,12})$/i

// What requests are answered with. With a plus sign, the same digits are the beginning of a number.
const STATUSES = new Set([200, 400, 401, 403, 404, 405, 408, 417, 429, 431, 500, 503].map(String))

/** What the words of the search box mean: an HTTP status, the beginning of a recipient's number, an id, or a text. */
export function readWords(
  words: string,
  maySearchRecipients: boolean,
): Pick<LogSearch, 'to' | 'id' | 'text'> & { readonly status?: string } {
  const sought = words.trim()
  const nothing = { to: undefined, id: undefined, text: undefined }
  if (sought === '') return nothing
  if (STATUSES.has(sought)) return { ...nothing, status: sought }
  const digits = maySearchRecipients ? digitsOfNumber(sought) : null
  if (digits !== null) return { ...nothing, to: `${digits}*` }
  return ID.test(sought) ? { ...nothing, id: sought } : { ...nothing, text: sought }
}

/** What the search box shows for the filters in use. */
export function wordsOf({ to, id, text }: LogSearch): string {
  return id ?? text ?? to?.replace('*', '') ?? ''
}

/** The key that helps with the search box: the one that leads there, or that searches for what is typed. */
export function keyHint(words: string, search: LogSearch): string {
  return words === wordsOf(search) ? '/' : 'Enter'
}

interface QuickFilter {
  readonly value: string
  readonly label: string
  readonly group: StateGroup | null
  readonly states: readonly (keyof typeof STATE_LABELS)[]
  /** What shows them. */
  readonly filter: Partial<LogSearch>
  /** The overview's figures that add up to their number. */
  readonly counts: readonly ResultKey[]
}

/** The groups of results to choose from. */
export const QUICK_FILTERS: readonly [QuickFilter, ...QuickFilter[]] = [
  { value: 'all', label: 'All', group: null, states: [], filter: {}, counts: ['accepted', 'refused'] },
  {
    value: 'sent',
    label: 'Sent',
    group: 'sent',
    states: ['PUBLISHED', 'DELIVERED', 'READ'],
    filter: { result: 'published' },
    counts: ['published'],
  },
  {
    value: 'waiting',
    label: 'Waiting',
    group: 'moving',
    states: ['QUEUED', 'SENDING'],
    filter: { result: 'waiting' },
    counts: ['waiting'],
  },
  {
    value: 'unconfirmed',
    label: 'Unconfirmed',
    group: 'attend',
    states: ['UNCONFIRMED'],
    filter: { result: 'unconfirmed' },
    counts: ['unconfirmed'],
  },
  {
    value: 'failed',
    label: 'Failed or expired',
    group: 'notsent',
    states: ['FAILED', 'EXPIRED'],
    filter: { view: 'failed' },
    counts: ['failed', 'expired'],
  },
  {
    value: 'rejected',
    label: 'Refused',
    group: 'refused',
    states: [],
    filter: { view: 'rejected' },
    counts: ['refused'],
  },
]

export type ResultKey = keyof Totals

/** The filters without the result, which is what is counted. */
export function countedFilter(search: LogSearch): LogSearch {
  const { view } = search
  return { ...search, result: undefined, view: view === 'attention' ? view : 'all' }
}

type Results = Pick<LogSearch, 'view' | 'result' | 'state'>

/** Which of them the filters mean; a state means its group. Empty: another one, which then has a chip. */
export function quickFilterOf({ view, result, state }: Results): string {
  const found = QUICK_FILTERS.find(({ filter, states }) => {
    if (state !== undefined && view === 'all' && result === undefined) return states.includes(state)
    return (filter.view ?? 'all') === view && filter.result === result
  })
  return found?.value ?? ''
}

/** The results that the filters let pass. */
export function shownResults(search: Results): readonly ResultKey[] {
  const { result } = search
  if (result !== undefined && result !== 'all') return [result]
  return QUICK_FILTERS.find(({ value }) => value === quickFilterOf(search))?.counts ?? QUICK_FILTERS[0].counts
}

/** What “Clear filters” removes beside the result. */
export const NO_FILTERS: Readonly<Record<Exclude<keyof LogSearch, 'view' | 'range'>, undefined>> = {
  state: undefined,
  result: undefined,
  open: undefined,
  status: undefined,
  connection: undefined,
  token: undefined,
  type: undefined,
  to: undefined,
  since: undefined,
  until: undefined,
  reason: undefined,
  text: undefined,
  id: undefined,
}

export function isFiltered({ view, range: _, ...filters }: LogSearch): boolean {
  return view !== 'all' || Object.values(filters).some((value) => value !== undefined)
}
