import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { RetryState } from '../../src/core/message/message.ts'
import { withClient } from '../../test/support/postgres/postgres-server.ts'
import type { Bench } from '../bench.ts'
import { Child } from '../child.ts'
import { connectCloudNumbers } from '../cloud-numbers.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import { BUSY_RECIPIENT } from '../instant-channel.ts'
import type { GraphCalls } from '../instant-graph.ts'
import type { MadeData } from '../made-data.ts'
import { preload } from '../preload.ts'
import { recipientAt, SEND_PATH, sendBody } from '../send-request.ts'
import { median } from '../statistics.ts'
import { measureSending } from './dispatch.ts'

const PART = 'deferred'
const BEHIND_ONE = 100_000
const RECIPIENTS = 10_000
const PEOPLE = 100
const BURST = { toOne: 200, toOthers: 800, others: 99 }
// How many messages the channel sends to one person before it spaces them out.
const TAKEN_AT_ONCE = 45
const SETTLE_MS = 1_000
// Longer than anything here takes, and shorter than a wait may last.
const WAITS_MS = 30 * 60_000

/** Lanes with messages that wait for something of their own. */
export async function measureDeferred(bench: Bench, engine: EngineName): Promise<Figure[]> {
  return [
    await measureBurst(bench, engine),
    await measureBusyRecipient(bench, engine),
    await measureBesideDeferred(bench, engine),
    ...(await measureTakeover(bench, engine)),
  ]
}

/** A burst to one person, of which WhatsApp Cloud accepts one message in six seconds, and then messages to others. */
async function measureBurst(bench: Bench, engine: EngineName): Promise<Figure> {
  const { toOne, toOthers, others } = BURST
  const rounds: number[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const data = await bench.data({ engine, connections: 0, channel: 'sandbox', state: 'active' })
    const [from = ''] = await connectCloudNumbers(data, 1)
    const graph = bench.keep(new Child<GraphCalls>('./instant-graph.ts'))
    const environment = { NUNCIO_WHATSAPP_CLOUD_URL: `http://127.0.0.1:${await graph.ask('listen', null)}` }
    const service = await bench.service(data, { environment })
    await service.start()
    const { port } = service.settings
    const startedMs = performance.now()
    for (let place = 0; place < toOne + toOthers; place += 1) {
      const to = recipientAt(place < toOne ? 0 : 1 + (place % others))
      await send({ port, token: data.token }, sendBody({ from, to }))
    }
    while ((await bench.countWaiting(data, port)) > toOne - TAKEN_AT_ONCE) await pause(50)
    rounds.push((performance.now() - startedMs) / 1000)
    bench.options.print(`  round ${round}: ${formatNumber(rounds.at(-1) ?? 0)} s until ${toOthers} to others were out`)
    await bench.end(service)
    await bench.end(graph)
    await bench.forget(data)
  }
  const name = `${toOthers} messages to ${others} people behind ${toOne} to one, WhatsApp Cloud, 1 number`
  const note = 'from the first request on; the network takes 80 in a second, and one in six seconds for the same person'
  return { part: PART, name, value: median(rounds), unit: 's', reach: { atMost: 12 }, rounds, note }
}

async function send({ port, token }: { port: number; token: string }, body: string): Promise<void> {
  const headers = { 'x-api-key': token, 'content-type': 'application/json' }
  const reply = await fetch(`http://127.0.0.1:${port}${SEND_PATH}`, { method: 'POST', headers, body })
  if (reply.status !== 200) throw new Error(`A message was refused: ${await reply.text()}`)
  await reply.arrayBuffer()
}

/** How much longer messages to others take if one of many recipients is always busy. */
async function measureBusyRecipient(bench: Bench, engine: EngineName): Promise<Figure> {
  const waiting = bench.options.isQuick ? 1_000 : 20_000
  const rounds: number[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const without = await drain(bench, engine, { waiting, last: recipientAt(0) })
    const beside = await drain(bench, engine, { waiting, last: BUSY_RECIPIENT })
    bench.options.print(
      `  round ${round}: ${Math.round(without)} ms with none busy, ${Math.round(beside)} ms with one of ${PEOPLE}`,
    )
    rounds.push(beside / without)
  }
  const name = `dispatch, 1 lane, one of ${PEOPLE} recipients always busy, time for the others, of that with none`
  const note = `${waiting.toLocaleString('en')} messages`
  return { part: PART, name, value: median(rounds), unit: '', reach: { atMost: 1.1 }, rounds, note }
}

/** The milliseconds from the first message until all are sent except those to `last`. */
async function drain(bench: Bench, engine: EngineName, { waiting, last }: { waiting: number; last: string }) {
  const data = await bench.data({ engine, connections: 1, channel: 'instant', state: 'active' })
  await preload(data, { waiting, settled: 0 })
  const { table } = rowsOf(engine)
  await change(data, `update ${table} set recipient = '155502' || (10000 + sequence % ${PEOPLE})`)
  await change(data, `update ${table} set recipient = '${last}' where sequence % ${PEOPLE} = 0`)
  const instant = await bench.instant(data)
  await bench.hasSent(instant, 1)
  const startedMs = performance.now()
  await bench.hasSent(instant, waiting - waiting / PEOPLE)
  const tookMs = performance.now() - startedMs
  await bench.end(instant.child)
  await bench.forget(data)
  return tookMs
}

/**
 * How much longer it takes from a start to the first message, and how much more memory, if that message is behind many deferred
 * ones.
 */
async function measureTakeover(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const deferred = bench.options.isQuick ? BEHIND_ONE / 100 : BEHIND_ONE
  const rounds: number[] = []
  const more: number[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const alone = await startAndSendOne(bench, engine, 0)
    const behind = await startAndSendOne(bench, engine, deferred)
    bench.options.print(
      `  round ${round}: ${Math.round(alone.ms)} ms alone, ${Math.round(behind.ms)} ms behind ${deferred}, ` +
        `${formatNumber(behind.mb - alone.mb)} MB more`,
    )
    rounds.push(behind.ms - alone.ms)
    more.push(behind.mb - alone.mb)
  }
  const name = `takeover of ${deferred.toLocaleString('en')} deferred messages, until another is sent`
  const note = 'all of them to one recipient; beyond a start with that message alone'
  const time = { part: PART, name, value: median(rounds), unit: 'ms', reach: { atMost: 2_000 }, rounds, note }
  const kept = `memory: ${deferred.toLocaleString('en')} deferred messages behind one recipient`
  const memory = { part: PART, name: kept, value: median(more), unit: 'MB', reach: { atMost: 5 }, rounds: more }
  return [time, { ...memory, note: 'objects of V8, beyond a start without them' }]
}

async function startAndSendOne(bench: Bench, engine: EngineName, deferred: number) {
  const data = await bench.data({ engine, connections: 1, channel: 'instant', state: 'active' })
  await preload(data, { waiting: deferred + 1, settled: 0 })
  const { table, ordered } = rowsOf(engine)
  await change(data, `update ${table} set recipient = '15550009999' where sequence = (${ordered} desc limit 1)`)
  if (deferred > 0) await change(data, `update ${table} set retry = ${waiting()} where sequence = (${ordered} limit 1)`)
  const startedMs = performance.now()
  const instant = await bench.instant(data)
  await bench.hasSent(instant, 1)
  const ms = performance.now() - startedMs
  await pause(SETTLE_MS)
  const mb = await instant.child.ask('collectGarbage', null)
  await bench.end(instant.child)
  await bench.forget(data)
  return { ms, mb }
}

/** The rate of a lane while many of its recipients are deferred, as a share of its usual rate. */
async function measureBesideDeferred(bench: Bench, engine: EngineName): Promise<Figure> {
  const deferred = bench.options.isQuick ? RECIPIENTS / 100 : RECIPIENTS
  const rounds: number[] = []
  const speeds: string[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const without = await sendBeside(bench, engine, 0)
    const beside = await sendBeside(bench, engine, deferred)
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

async function sendBeside(bench: Bench, engine: EngineName, deferred: number): Promise<number> {
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
