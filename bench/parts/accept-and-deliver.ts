import { type Bench, type Instant, loadOf } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { type PerMessage, perMessage, roomFigures, serverFigures, spentBy } from '../server-costs.ts'
import { median } from '../statistics.ts'

const PART = 'deliver'
const LANES = 1_000
const SOCKETS = 128

interface Turn {
  readonly reference: number
  readonly accepted: number
  readonly delivered: number
  readonly cpuSecondsPerThousand: number
  readonly server: PerMessage | null
}

/** Accepting and delivering at once. What counts is the slower of the two, because the other one cannot go on for long. */
export async function measureAcceptAndDeliver(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const data = await bench.data({ engine, connections: LANES, channel: 'instant', state: 'active' })
  const instant = await bench.instant(data)
  const reference = await bench.reference()
  await bench.load({ ...loadOf(data, instant), sockets: SOCKETS, seconds: 0.2 })
  await bench.firstSent(instant)
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const bare = await bench.load({ ...loadOf(data, reference), sockets: SOCKETS })
    const turn = { reference: bare.perSecond, ...(await takeTurn(bench, instant, data)) }
    turns.push(turn)
    bench.options.tell(
      `  round ${round}: reference ${formatNumber(turn.reference)}/s, accepted ${formatNumber(turn.accepted)}/s, ` +
        `delivered ${formatNumber(turn.delivered)}/s`,
    )
  }
  const waiting = await bench.countWaiting(data, instant.port)
  await bench.end(instant.child)
  const room = await roomFigures(PART, 'settled', data)
  await bench.forget(data)
  return [...figuresOf(turns, waiting), ...serverFigures(PART, 'accept and deliver', turns), ...room]
}

/** Counts deliveries between two moments of one clock, in the middle of the load. */
async function takeTurn(bench: Bench, instant: Instant, data: MadeData): Promise<Omit<Turn, 'reference'>> {
  const { child } = instant
  const load = loadOf(data, instant)
  const loading = bench.load({ ...load, sockets: SOCKETS })
  await bench.warmUp()
  const spentBefore = await spentBy(bench, data.engine)
  const before = await child.ask('progress', null)
  const { perSecond } = await loading
  const after = await child.ask('progress', null)
  const spentAfter = await spentBy(bench, data.engine)
  const delivered = after.sent - before.sent
  return {
    accepted: perSecond,
    delivered: (delivered / (after.atMs - before.atMs)) * 1000,
    cpuSecondsPerThousand: ((after.cpuSeconds - before.cpuSeconds) / delivered) * 1000,
    server: perMessage(spentBefore, spentAfter, delivered),
  }
}

function figuresOf(turns: readonly Turn[], waiting: number): Figure[] {
  const sustained = turns.map(({ accepted, delivered }) => Math.min(accepted, delivered))
  const accepted = turns.map((turn) => turn.accepted)
  const delivered = turns.map((turn) => turn.delivered)
  const rate = { part: PART, unit: '/s', reach: null }
  const cpu = median(turns.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand))
  return [
    {
      ...rate,
      name: 'accepted beside delivering',
      value: median(accepted),
      rounds: accepted,
      note: `${SOCKETS} connections`,
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
      value: median(sustained) / median(turns.map(({ reference }) => reference)),
      unit: '',
      reach: { atLeast: 0.3 },
      rounds: turns.map((turn, place) => (sustained[place] ?? 0) / turn.reference),
      note: 'the slower of both against the route of the same run',
    },
  ]
}
