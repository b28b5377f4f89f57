import type { AccountId } from '../../src/core/ids.ts'
import { type LogFilter, NO_FILTER } from '../../src/core/ports/console/api-log.ts'
import { createApiLog } from '../../src/storage/queries/api-log/api-log.ts'
import type { Store } from '../../src/storage/queries/store.ts'
import type { Bench } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { preload } from '../preload.ts'
import { median } from '../statistics.ts'

const PART = 'log'
const LANES = 100
const MANY = { waiting: 1_000, settled: 1_000_000 }
const FEW = { waiting: 100, settled: 2_000 }
const MOST_PAGES = 20
const PAGE_ROWS = 50
const MOST_MS = 50

const LISTS: Readonly<Record<string, Partial<LogFilter>>> = {
  'no filter': {},
  'tab “Failed”': { view: 'failed' },
  'tab “Needs attention”': { view: 'attention' },
  'one of the states': { state: 'PUBLISHED' },
  'a type that was never sent': { type: 'video' },
  'a recipient without messages': { recipient: { digits: '4917612345678', isWhole: true } },
  'words that stand nowhere': { text: 'nothing says so' },
  'up to a time': { until: Date.now() + 60_000 },
}

/** How long the console waits for a page of the API log, from the first page on, in a log of a million messages. */
export async function measureLogPages(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const rows = bench.options.isQuick ? FEW : MANY
  const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
  await preload(data, rows)
  const { store, close } = await openStore(data)
  const figures: Figure[] = []
  for (const [name, filter] of Object.entries(LISTS)) {
    const times = await readPages(store, data.accountId as AccountId, { ...NO_FILTER, ...filter })
    const longest = Math.max(...times)
    bench.options.print(`  ${name}: ${formatNumber(median(times))} ms, longest ${formatNumber(longest)} ms`)
    figures.push({
      part: PART,
      name: `page of the API log, ${name}`,
      value: median(times),
      unit: 'ms',
      reach: { atMost: MOST_MS },
      rounds: times,
      note: `${formatNumber(rows.settled + rows.waiting)} messages; ${times.length} pages, longest ${formatNumber(longest)} ms`,
    })
  }
  await close()
  await bench.forget(data)
  return figures
}

async function openStore({ engine, database }: MadeData): Promise<{ store: Store; close: () => Promise<void> | void }> {
  if (engine === 'sqlite') {
    const { openAdministration } = await import('../../src/storage/sqlite/queries/open-administration.ts')
    return openAdministration(database, { create: false, now: Date.now })
  }
  const { openAdministration } = await import('../../src/storage/postgres/queries/open-administration.ts')
  return openAdministration({ url: database, migrateUrl: database }, { create: false })
}

async function readPages(store: Store, accountId: AccountId, filter: LogFilter): Promise<number[]> {
  const log = createApiLog(store)
  const times: number[] = []
  let cursor: string | null = null
  do {
    const startedMs = performance.now()
    const page = await log.readPage(accountId, { filter, cursor, limit: PAGE_ROWS })
    times.push(performance.now() - startedMs)
    cursor = page.next
  } while (cursor !== null && times.length < MOST_PAGES)
  return times
}
