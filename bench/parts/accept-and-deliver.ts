import { setTimeout as pause } from 'node:timers/promises'
import { type Bench, type Instant, loadOf } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { type PerMessage, perMessage, roomFigures, serverFigures, spentBy } from '../server-costs.ts'
import { median } from '../statistics.ts'
import { topOf } from '../top-rate.ts'

const PART = 'deliver'
const LANES = 1_000
const SOCKETS = [128, 256]

interface Turn {
  readonly sockets: number
  readonly reference: number
  readonly accepted: number
  readonly delivered: number
  readonly cpuSecondsPerThousand: number
  readonly server: PerMessage | null
}

/** Accepting and delivering at once. The slower of both rates counts, because the faster one cannot last. */
export async function measureAcceptAndDeliver(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const data = await bench.data({ engine, connections: LANES, channel: 'instant', state: 'active' })
  const instant = await bench.instant(data)
  const reference = await bench.reference()
  await bench.load({ ...loadOf(data, instant), sockets: 128, seconds: 0.2 })
  await bench.hasSent(instant, 1)
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    for (const sockets of bench.options.isQuick ? SOCKETS.slice(0, 1) : SOCKETS) {
      const bare = await bench.load({ ...loadOf(data, reference), sockets })
      const turn = { sockets, reference: bare.perSecond, ...(await takeTurn(bench, { instant, data, sockets })) }
      turns.push(turn)
      bench.options.print(
        `  round ${round}, ${sockets} connections: reference ${formatNumber(turn.reference)}/s, ` +
          `accepted ${formatNumber(turn.accepted)}/s, delivered ${formatNumber(turn.delivered)}/s`,
      )
    }
  }
  const waiting = await bench.countWaiting(data, instant.port)
  await bench.end(instant.child)
  const room = await roomFigures(PART, 'settled', data)
  await bench.forget(data)
  return [...figuresOf(turns, waiting), ...serverFigures(PART, 'accept and deliver', turns), ...room]
}

/** Counts deliveries between two times of one clock, in the middle of the load. */
async function takeTurn(
  bench: Bench,
  { instant, data, sockets }: { instant: Instant; data: MadeData; sockets: number },
): Promise<Omit<Turn, 'sockets' | 'reference'>> {
  const { child } = instant
  const loading = bench.load({ ...loadOf(data, instant), sockets })
  await bench.warmUp()
  const spentBefore = await spentBy(bench, data.engine)
  const before = await child.ask('progress', null)
  // The load ends with a pause, in which hardly anything is left to deliver.
  await pause(bench.options.seconds * 1000)
  const after = await child.ask('progress', null)
  const spentAfter = await spentBy(bench, data.engine)
  const { perSecond } = await loading
  const delivered = after.sent - before.sent
  return {
    accepted: perSecond,
    delivered: (delivered / (after.atMs - before.atMs)) * 1000,
    cpuSecondsPerThousand: ((after.cpuSeconds - before.cpuSeconds) / delivered) * 1000,
    server: perMessage(spentBefore, spentAfter, delivered),
  }
}

function figuresOf(turns: readonly Turn[], waiting: number): Figure[] {
  const sustained = (turn: Turn) => Math.min(turn.accepted, turn.delivered)
  const [service, reference] = [topOf(turns, sustained), topOf(turns, (turn) => turn.reference)]
  const best = turns.filter(({ sockets }) => sockets === service.sockets)
  const accepted = best.map((turn) => turn.accepted)
  const delivered = best.map((turn) => turn.delivered)
  const rate = { part: PART, unit: '/s', reach: null }
  const cpu = median(best.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand))
  return [
    {
      ...rate,
      name: 'accepted beside delivering',
      value: median(accepted),
      rounds: accepted,
      note: `${service.sockets} connections`,
    },
    {
      ...rate,
      name: 'delivered beside accepting',
      value: median(delivered),
      rounds: delivered,
      note: `${formatNumber(waiting)} waiting at the end; ${formatNumber(cpu * 1000)} µs of CPU each in Node`,
    },
    {
      part: PART,
      name: 'accept and deliver / bare route',
      value: service.perSecond / reference.perSecond,
      unit: '',
      reach: { atLeast: 0.3 },
      rounds: turns.map((turn) => sustained(turn) / turn.reference),
      note:
        `the slower of both: ${formatNumber(service.perSecond)}/s over ${service.sockets} connections, ` +
        `and ${formatNumber(reference.perSecond)}/s over ${reference.sockets}`,
    },
  ]
}
