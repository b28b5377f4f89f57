import { setTimeout as pause } from 'node:timers/promises'
import { type Bench, type Instant, readGauge } from '../bench.ts'
import { type Figure, formatNumber, type Reach } from '../figure.ts'
import { preload } from '../preload.ts'
import { median } from '../statistics.ts'

const PART = 'dispatch'

interface Size {
  readonly lanes: number
  /** Enough that the backlog outlasts the measurement on a machine far better than ours. */
  readonly mostPerSecond: number
  readonly reach: Reach | null
}

const SIZES: readonly Size[] = [
  { lanes: 1, mostPerSecond: 15_000, reach: { atLeast: 6_000 } },
  { lanes: 10, mostPerSecond: 50_000, reach: null },
  { lanes: 100, mostPerSecond: 120_000, reach: null },
  { lanes: 1_000, mostPerSecond: 120_000, reach: { atLeast: 60_000 } },
]

interface Turn {
  readonly lanes: number
  readonly perSecond: number
  readonly cpuSecondsPerThousand: number
}

/** Dispatching alone: a backlog is there, nothing is accepted beside it, and the network takes everything at once. */
export async function measureDispatch(bench: Bench): Promise<Figure[]> {
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    for (const size of SIZES) {
      const turn = await takeTurn(bench, size)
      bench.options.tell(
        `  round ${round}, ${size.lanes} lanes: ${formatNumber(turn.perSecond)}/s, ` +
          `${formatNumber(turn.cpuSecondsPerThousand)} CPU s per 1,000`,
      )
      turns.push(turn)
    }
  }
  return SIZES.flatMap((size) => figuresOf(size, turns))
}

async function takeTurn(bench: Bench, { lanes, mostPerSecond }: Size): Promise<Turn> {
  const data = await bench.data({ connections: lanes, channel: 'instant', state: 'active' })
  preload(data, { waiting: mostPerSecond * (bench.options.seconds + bench.warmUpSeconds), settled: 0 })
  const instant = await bench.instant(data.dataDir)
  const measured = await measureSending(bench, instant)
  await bench.end(instant.child)
  bench.forget(data.dataDir)
  return { lanes, ...measured }
}

/** How fast a running service hands over what waits. */
export async function measureSending(bench: Bench, { child, port }: Instant) {
  await bench.warmUp()
  const before = await child.ask('progress', null)
  await pause(bench.options.seconds * 1000)
  const after = await child.ask('progress', null)
  if ((await readGauge(port, 'nuncio_messages_waiting')) === 0)
    bench.options.tell('  ! the backlog was gone before the end')
  const sent = after.sent - before.sent
  return {
    perSecond: (sent / (after.atMs - before.atMs)) * 1000,
    cpuSecondsPerThousand: ((after.cpuSeconds - before.cpuSeconds) / sent) * 1000,
  }
}

function figuresOf({ lanes, reach }: Size, turns: readonly Turn[]): Figure[] {
  const those = turns.filter((turn) => turn.lanes === lanes)
  const rates = those.map(({ perSecond }) => perSecond)
  const cpu = median(those.map(({ cpuSecondsPerThousand }) => cpuSecondsPerThousand))
  const name = `dispatch, ${lanes.toLocaleString('en')} ${lanes === 1 ? 'lane' : 'lanes'}`
  const note = `${formatNumber(cpu * 1000)} ms of CPU per 1,000 messages`
  return [{ part: PART, name, value: median(rates), unit: '/s', reach, rounds: rates, note }]
}
