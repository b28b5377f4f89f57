import { DatabaseSync } from 'node:sqlite'
import type { RetryState } from '../../src/core/message/message.ts'
import { withClient } from '../../test/support/postgres/postgres-server.ts'
import type { Bench } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { preload } from '../preload.ts'
import { median } from '../statistics.ts'
import { measureSending } from './dispatch.ts'

const PART = 'deferred'
const BEHIND_ONE = 100_000
const RECIPIENTS = 10_000
// Longer than anything here takes, and shorter than a wait may last.
const WAITS_MS = 30 * 60_000

/** Lanes with messages that wait for something of their own. */
export async function measureDeferred(bench: Bench, engine: EngineName): Promise<Figure[]> {
  return [await measureTakeover(bench, engine), await measureBesideDeferred(bench, engine)]
}

/** How much longer a start takes until the first message goes, when it stands behind many that are deferred. */
async function measureTakeover(bench: Bench, engine: EngineName): Promise<Figure> {
  const deferred = bench.options.isQuick ? BEHIND_ONE / 100 : BEHIND_ONE
  const rounds: number[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const alone = await startAndSendOne(bench, engine, 0)
    const behind = await startAndSendOne(bench, engine, deferred)
    bench.options.print(`  round ${round}: ${Math.round(alone)} ms alone, ${Math.round(behind)} ms behind ${deferred}`)
    rounds.push(behind - alone)
  }
  const name = `takeover of ${deferred.toLocaleString('en')} deferred messages, until another is sent`
  const note = 'all of them to one recipient; beyond a start with that message alone'
  return { part: PART, name, value: median(rounds), unit: 'ms', reach: { atMost: 2_000 }, rounds, note }
}

async function startAndSendOne(bench: Bench, engine: EngineName, deferred: number): Promise<number> {
  const data = await bench.data({ engine, connections: 1, channel: 'instant', state: 'active' })
  await preload(data, { waiting: deferred + 1, settled: 0 })
  const { table, ordered } = rowsOf(engine)
  await change(data, `update ${table} set recipient = '15550009999' where sequence = (${ordered} desc limit 1)`)
  if (deferred > 0) await change(data, `update ${table} set retry = ${waiting()} where sequence = (${ordered} limit 1)`)
  const startedMs = performance.now()
  const instant = await bench.instant(data)
  await bench.hasSent(instant, 1)
  const tookMs = performance.now() - startedMs
  await bench.end(instant.child)
  await bench.forget(data)
  return tookMs
}

/** How fast one lane sends while many of its recipients are deferred, of how fast it sends otherwise. */
async function measureBesideDeferred(bench: Bench, engine: EngineName): Promise<Figure> {
  const deferred = bench.options.isQuick ? RECIPIENTS / 100 : RECIPIENTS
  const rounds: number[] = []
  const speeds: string[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const without = await send(bench, engine, 0)
    const beside = await send(bench, engine, deferred)
    bench.options.print(
      `  round ${round}: ${formatNumber(without)}/s with none, ${formatNumber(beside)}/s beside ${deferred}`,
    )
    rounds.push(beside / without)
    speeds.push(`${formatNumber(beside)}/s of ${formatNumber(without)}/s`)
  }
  const name = `dispatch, 1 lane, ${deferred.toLocaleString('en')} recipients deferred, of the speed with none`
  return {
    part: PART,
    name,
    value: median(rounds),
    unit: '',
    reach: { atLeast: 0.85 },
    rounds,
    note: speeds.join(', '),
  }
}

async function send(bench: Bench, engine: EngineName, deferred: number): Promise<number> {
  const data = await bench.data({ engine, connections: 1, channel: 'instant', state: 'active' })
  const perSecond = engine === 'sqlite' ? 15_000 : 10_000
  await preload(data, {
    waiting: deferred + Math.ceil(perSecond * (bench.options.seconds + bench.warmUpSeconds) + 10_000),
    settled: 0,
  })
  const { table, ordered } = rowsOf(engine)
  if (deferred > 0)
    await change(
      data,
      `update ${table} set retry = ${waiting()}, recipient = '15' || sequence where sequence in (${ordered} limit ${deferred})`,
    )
  const instant = await bench.instant(data)
  const { perSecond: speed } = await measureSending(bench, instant, data)
  await bench.end(instant.child)
  await bench.forget(data)
  return speed
}

function rowsOf(engine: EngineName): { readonly table: string; readonly ordered: string } {
  const table = engine === 'sqlite' ? 'message' : 'queued'
  return { table, ordered: `select sequence from ${table} order by sequence` }
}

/** A wait for a retry, as a literal of SQL. */
function waiting(): string {
  const wait = { kind: 'retry', reason: 'retrying', words: null, until: Date.now() + WAITS_MS } as const
  const retry: RetryState = { tries: 1, resent: false, crashes: 0, wait }
  return `'${JSON.stringify(retry)}'`
}

async function change({ engine, database }: MadeData, sql: string): Promise<void> {
  if (engine === 'postgres') return withClient(database, async (client) => void (await client.query(sql)))
  const opened = new DatabaseSync(database)
  opened.exec(sql)
  opened.close()
}
