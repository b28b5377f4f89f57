import { type Bench, loadOf } from '../bench.ts'
import { ConsoleWatcher } from '../console-watcher.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import { preload } from '../preload.ts'
import { median } from '../statistics.ts'

const PART = 'console'
const LANES = 100
const SOCKETS = 128
const MANY = { waiting: 1_000, settled: 1_000_000 }
const FEW = { waiting: 100, settled: 2_000 }

/** Whether the console slows down accepting: accepts with the console open and without it, in turns. */
export async function measureConsole(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const { rounds, isQuick, print } = bench.options
  const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
  const rows = isQuick ? FEW : MANY
  await preload(data, rows)
  const service = await bench.service(data)
  await service.start()
  const target = { port: service.settings.port, pid: service.pid }
  const [without, open, reads]: [number[], number[], number[]] = [[], [], []]
  for (let round = 1; round <= rounds; round += 1) {
    const alone = await bench.load({ ...loadOf(data, target), sockets: SOCKETS })
    const watcher = await ConsoleWatcher.signIn(data, bench.newFolder(), target.port)
    watcher.open()
    const watched = await bench.load({ ...loadOf(data, target), sockets: SOCKETS })
    await watcher.close()
    without.push(alone.perSecond)
    open.push(watched.perSecond)
    reads.push(watcher.reads)
    print(
      `  round ${round}: ${formatNumber(alone.perSecond)}/s, with the console open ${formatNumber(watched.perSecond)}/s`,
    )
  }
  await bench.end(service)
  await bench.forget(data)
  const note = `${formatNumber(median(open))}/s and ${formatNumber(median(without))}/s; ${formatNumber(rows.settled)} messages; overview, API log and connections open, read ${formatNumber(median(reads))} times`
  return [
    {
      part: PART,
      name: 'accepts with the console open / without',
      value: median(open) / median(without),
      unit: '',
      reach: { atLeast: 0.9 },
      rounds: open.map((perSecond, at) => perSecond / (without[at] ?? Number.NaN)),
      note,
    },
  ]
}
