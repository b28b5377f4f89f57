import type { Ran, Scan } from './plan-log.ts'

/** Tables that grow with the number of messages. */
const GROWING = ['queued', 'settled', 'ended_attempt', 'accept_commit', 'request', 'timeline', 'idempotency', 'media']
// A table of a few blocks is read faster as a whole than by an index.
const SMALL_ROWS = 1_000
// How many rows of these tables one statement may read, unless it is excused. A batch has a few dozen messages.
const MOST_ROWS = 1_000
const MOST_BLOCKS = 2_000

export interface Excuse {
  /** The function that contains the statement; null for a statement that was sent. */
  readonly within: string | null
  readonly like: RegExp
  readonly mostRows: number
  readonly mostBlocks: number
  readonly mayScan?: boolean
  readonly because: string
}

/** One sentence for each statement whose cost grows with the table. */
export function findCostly(ran: readonly Ran[], excuses: readonly Excuse[] = []): string[] {
  const found = ran.flatMap((each) => {
    const scans = each.scans.filter(({ table }) => GROWING.includes(table))
    const excuse = excuses.find(({ within, like }) => within === each.within && like.test(each.sql))
    const { mostRows = MOST_ROWS, mostBlocks = MOST_BLOCKS, mayScan = false } = excuse ?? {}
    const whole = scans.filter(({ kind, rows }) => kind.includes('Seq Scan') && rows > SMALL_ROWS)
    if (whole.length > 0 && !mayScan) return [`${nameOf(each)} reads all of ${namesOf(whole)}`]
    const rows = sum(scans.map((scan) => scan.rows))
    const blocks = sum(scans.map((scan) => scan.blocks))
    return rows > mostRows || blocks > mostBlocks
      ? [`${nameOf(each)} reads ${rows} rows in ${blocks} blocks of ${namesOf(scans)}`]
      : []
  })
  return [...new Set(found)]
}

/** The statements that have read more partitions of one table than allowed. */
export function findScattered(ran: readonly Ran[], most: number): string[] {
  return ran.flatMap((each) => {
    const relations = new Map<string, Set<string>>()
    for (const { table, relation } of each.scans)
      if (relation !== table) relations.set(table, (relations.get(table) ?? new Set()).add(relation))
    return [...relations.values()]
      .filter(({ size }) => size > most)
      .map((read) => `${nameOf(each)} reads ${[...read].join(', ')}`)
  })
}

export function rowsOf(ran: readonly Ran[]): number {
  return sum(ran.flatMap(({ scans }) => scans.filter(({ table }) => GROWING.includes(table)).map(({ rows }) => rows)))
}

function nameOf({ within, sql }: Ran): string {
  return `${within ?? 'sent'}: ${sql.slice(0, 160)}`
}

function namesOf(scans: readonly Scan[]): string {
  return [...new Set(scans.map(({ relation, index }) => (index === null ? relation : `${relation} by ${index}`)))].join(
    ', ',
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}
