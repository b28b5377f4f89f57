import { setTimeout as pause } from 'node:timers/promises'
import type { NuncioProcess } from '../../test/support/black-box/nuncio-process.ts'
import { type Bench, loadOf } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import { activateAll, type MadeData } from '../made-data.ts'
import { preload } from '../preload.ts'
import { SEND_PATH, sendBody } from '../send-request.ts'
import { median } from '../statistics.ts'
import { measureSending } from './dispatch.ts'

const PART = 'rows'
const LANES = 1_000
const SOCKETS = 128
const ROWS = {
  small: { waiting: 400_000, settled: 200_000 },
  full: { waiting: 5_000_000, settled: 10_000_000 },
}
const MOST_PER_SECOND = 120_000
const FIRST_ACCEPT_WITHIN_MS = 60_000

interface Pair {
  readonly empty: number
  readonly full: number
}

/** Whether the database of a busy year is as fast as a new one, measured in turns. */
export async function measureManyRows(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const rows = ROWS[bench.options.rows]
  const wanted = { engine, connections: LANES, channel: 'sandbox', state: 'paused' } as const
  const empty = await bench.data(wanted)
  const full = await bench.data(wanted)
  bench.options.print(`  making ${formatNumber(rows.waiting + rows.settled)} rows`)
  const startedMs = performance.now()
  await preload(full, rows)
  bench.options.print(`  rows made in ${formatNumber((performance.now() - startedMs) / 1000)} s`)
  const { accepts, starts } = await accept(bench, empty, full)
  const dispatches = await dispatch(bench, full)
  await bench.forget(empty)
  await bench.forget(full)
  const note = `${formatNumber(rows.waiting)} waiting, ${formatNumber(rows.settled)} settled`
  return [
    ratioOf('accepts with many rows / empty database', accepts, note),
    ratioOf('dispatch with many rows / empty database', dispatches, note),
    firstAccept(
      'first accept after start, many rows',
      starts.map((pair) => pair.full),
      { atMost: 2 },
    ),
    firstAccept(
      'first accept after start, empty database',
      starts.map((pair) => pair.empty),
      null,
    ),
  ]
}

async function accept(bench: Bench, empty: MadeData, full: MadeData): Promise<{ accepts: Pair[]; starts: Pair[] }> {
  const accepts: Pair[] = []
  const starts: Pair[] = []
  // More rounds than elsewhere: the first round after so many rows were created at once is slower. All lanes need a new page of
  // their index within a second, and each changed page is logged whole.
  const rounds = 2 * bench.options.rounds - 1
  for (let round = 1; round <= rounds; round += 1) {
    const ofEmpty = await startAndAccept(bench, empty)
    const ofFull = await startAndAccept(bench, full)
    accepts.push({ empty: ofEmpty.perSecond, full: ofFull.perSecond })
    starts.push({ empty: ofEmpty.firstAcceptSeconds, full: ofFull.firstAcceptSeconds })
    bench.options.print(
      `  accepts, round ${round}: empty ${formatNumber(ofEmpty.perSecond)}/s, full ${formatNumber(ofFull.perSecond)}/s; ` +
        `first accept ${formatNumber(ofEmpty.firstAcceptSeconds)} s and ${formatNumber(ofFull.firstAcceptSeconds)} s`,
    )
  }
  return { accepts, starts }
}

async function startAndAccept(bench: Bench, data: MadeData) {
  const service = await bench.service(data)
  const firstAcceptSeconds = await startUntilFirstAccept(service, data)
  const { perSecond } = await bench.load({
    ...loadOf(data, { port: service.settings.port, pid: service.pid }),
    sockets: SOCKETS,
  })
  await bench.end(service)
  return { perSecond, firstAcceptSeconds }
}

/** The time from the start of the process, as a caller that retries sees it. */
async function startUntilFirstAccept(service: NuncioProcess, { token, numbers }: MadeData): Promise<number> {
  const startedMs = performance.now()
  service.spawn()
  const request = {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    body: sendBody({ from: numbers[0] ?? '' }),
  }
  for (;;) {
    const status = await fetch(`${service.url}${SEND_PATH}`, request).then(
      (reply) => reply.arrayBuffer().then(() => reply.status),
      () => null,
    )
    const tookMs = performance.now() - startedMs
    if (status === 200) return tookMs / 1000
    if (!service.isRunning || tookMs > FIRST_ACCEPT_WITHIN_MS) throw new Error(`It accepts nothing:\n${service.log}`)
    await pause(5)
  }
}

async function dispatch(bench: Bench, full: MadeData): Promise<Pair[]> {
  await activateAll(full)
  const pairs: Pair[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const fresh = await bench.data({ engine: full.engine, connections: LANES, channel: 'instant', state: 'active' })
    await preload(fresh, { waiting: MOST_PER_SECOND * (bench.options.seconds + bench.warmUpSeconds), settled: 0 })
    const pair = { empty: await startAndSend(bench, fresh), full: await startAndSend(bench, full) }
    await bench.forget(fresh)
    pairs.push(pair)
    bench.options.print(
      `  dispatch, round ${round}: empty ${formatNumber(pair.empty)}/s, full ${formatNumber(pair.full)}/s`,
    )
  }
  return pairs
}

async function startAndSend(bench: Bench, data: MadeData): Promise<number> {
  const instant = await bench.instant(data)
  const { perSecond } = await measureSending(bench, instant, data)
  await bench.end(instant.child)
  return perSecond
}

function ratioOf(name: string, pairs: readonly Pair[], note: string): Figure {
  const empty = median(pairs.map((pair) => pair.empty))
  const full = median(pairs.map((pair) => pair.full))
  return {
    part: PART,
    name,
    value: full / empty,
    unit: '',
    reach: { atLeast: 0.9 },
    rounds: pairs.map((pair) => pair.full / pair.empty),
    note: `${note}; ${formatNumber(full)}/s and ${formatNumber(empty)}/s`,
  }
}

function firstAccept(name: string, seconds: readonly number[], reach: Figure['reach']): Figure {
  const note = 'from the start of the process to the first 200'
  return { part: PART, name, value: median(seconds), unit: 's', reach, rounds: seconds, note }
}
