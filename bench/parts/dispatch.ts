import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Instant } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber, type Reach } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { preload } from '../preload.ts'
import { type PerMessage, perMessage, serverFigures, spentBy } from '../server-costs.ts'
import { median } from '../statistics.ts'

const PART = 'dispatch'
// V8 compiles code after it has run often enough. A thousand lanes send this many messages in a quarter of a second; a single
// lane takes seconds, and is a third faster afterwards.
const MESSAGES_TO_WARM_UP = 10_000

interface Size {
  readonly lanes: number
  /** Enough that the backlog lasts longer than the measurement, even on a far better machine. */
  readonly mostPerSecond: Readonly<Record<EngineName, number>>
  readonly reach: Readonly<Record<EngineName, Reach | null>>
}

const SIZES: readonly Size[] = [
  {
    lanes: 1,
    mostPerSecond: { sqlite: 15_000, postgres: 10_000 },
    reach: { sqlite: { atLeast: 6_000 }, postgres: { atLeast: 1_500 } },
  },
  { lanes: 100, mostPerSecond: { sqlite: 120_000, postgres: 60_000 }, reach: { sqlite: null, postgres: null } },
  {
    lanes: 1_000,
    mostPerSecond: { sqlite: 120_000, postgres: 60_000 },
    reach: { sqlite: { atLeast: 60_000 }, postgres: { atLeast: 30_000 } },
  },
]

interface Sending {
  readonly perSecond: number
  readonly cpuSecondsPerThousand: number
  readonly server: PerMessage | null
}

type Turn = Sending & { readonly lanes: number }

/** Dispatching alone: there is a backlog, nothing is accepted, and the network accepts everything at once. */
export async function measureDispatch(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    for (const size of SIZES) {
      const turn = { lanes: size.lanes, ...(await dispatchBacklog(bench, engine, size)) }
      bench.options.print(
        `  round ${round}, ${size.lanes} lanes: ${formatNumber(turn.perSecond)}/s, ` +
          `${formatNumber(turn.cpuSecondsPerThousand)} CPU s per 1,000`,
      )
      turns.push(turn)
    }
  }
  return SIZES.flatMap((size) => figuresOf(size, engine, turns))
}

/** Creates a backlog, and dispatches for a while. */
export async function dispatchBacklog(
  bench: Bench,
  engine: EngineName,
  { lanes, mostPerSecond }: Pick<Size, 'lanes' | 'mostPerSecond'>,
): Promise<Sending> {
  const data = await bench.data({ engine, connections: lanes, channel: 'instant', state: 'active' })
  const waiting = Math.ceil(mostPerSecond[engine] * (bench.options.seconds + bench.warmUpSeconds))
  await preload(data, { waiting, settled: 0 })
  const instant = await bench.instant(data)
  const measured = await measureSending(bench, instant, data)
  await bench.end(instant.child)
  await bench.forget(data)
  return measured
}

/** How fast a running service hands over its backlog. */
export async function measureSending(bench: Bench, instant: Instant, data: MadeData): Promise<Sending> {
  const { child, port } = instant
  await bench.hasSent(instant, 1)
  await bench.warmUp()
  if (!bench.options.isQuick) await bench.hasSent(instant, MESSAGES_TO_WARM_UP)
  const spentBefore = await spentBy(bench, data.engine)
  const before = await child.ask('progress', null)
  await pause(bench.options.seconds * 1000)
  const after = await child.ask('progress', null)
  const spentAfter = await spentBy(bench, data.engine)
  if ((await bench.countWaiting(data, port)) === 0) bench.options.print('  ! the backlog was gone before the end')
  const sent = after.sent - before.sent
  return {
    perSecond: (sent / (after.atMs - before.atMs)) * 1000,
    cpuSecondsPerThousand: ((after.cpuSeconds - before.cpuSeconds) / sent) * 1000,
    server: perMessage(spentBefore, spentAfter, sent),
  }
}

function figuresOf({ lanes, reach }: Size, engine: EngineName, turns: readonly Turn[]): Figure[] {
  const those = turns.filter((turn) => turn.lanes === lanes)
  const rates = those.map(({ perSecond }) => perSecond)
  const cpuUs = median(those.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand)) * 1000
  const name = `dispatch, ${lanes.toLocaleString('en')} ${lanes === 1 ? 'lane' : 'lanes'}`
  const rate = { part: PART, name, value: median(rates), unit: '/s', reach: reach[engine], rounds: rates, note: '' }
  return [{ ...rate, note: `${formatNumber(cpuUs)} µs of CPU each in Node` }, ...serverFigures(PART, name, those)]
}
