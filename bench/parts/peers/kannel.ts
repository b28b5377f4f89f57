import { type Bench, loadOf } from '../../bench.ts'
import { ENGINES, type EngineName } from '../../engine.ts'
import { type Figure, formatNumber } from '../../figure.ts'
import { KANNEL_TAKES, Kannel } from '../../peers/kannel.ts'
import { leftOut, rateOf, ratioOf } from './turns.ts'

const LANES = 100
// Kannel takes a message of each connection at a time; more connections than this gained it nothing.
const SOCKETS = 64

type Rates = Record<EngineName, number[]>

/** Accepting: our durable one against Kannel's, which writes a file for each message and does not flush it. */
export async function measureKannel(bench: Bench): Promise<Figure[]> {
  const ours: Rates = { sqlite: [], postgres: [] }
  const theirs: Rates = { sqlite: [], postgres: [] }
  let version = ''
  for (const engine of ENGINES) {
    const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
    const service = await bench.service(data)
    await service.start()
    const side = loadOf(data, { port: service.settings.port, pid: service.pid })
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      const own = await bench.load({ ...side, sockets: SOCKETS })
      const other = await takeKannelTurn(bench, data.numbers)
      if (!other)
        return [
          leftOut(bench, 'Kannel', 'it is not installed: `npm run bench:peers` tries to (Debian’s package kannel)'),
        ]
      version = other.version
      ours[engine].push(own.perSecond)
      theirs[engine].push(other.perSecond)
      bench.options.tell(
        `  round ${round} on ${engine}: ours ${formatNumber(own.perSecond)}/s, Kannel ${formatNumber(other.perSecond)}/s`,
      )
    }
    await bench.end(service)
    await bench.forget(data)
  }
  const name = `Kannel ${version}, spool store`
  return [
    {
      ...rateOf(
        `${name}: accepts`,
        ENGINES.flatMap((engine) => theirs[engine]),
      ),
      note: `${SOCKETS} connections; it flushes nothing`,
    },
    ...ENGINES.map((engine) =>
      ratioOf(`durable accepts on ${engine} / ${name}`, {
        ours: ours[engine],
        theirs: theirs[engine],
        reach: { atLeast: 8 },
      }),
    ),
  ]
}

async function takeKannelTurn(bench: Bench, numbers: readonly string[]) {
  // Anew each time: a spool that has filled up slows the file system, not Kannel.
  const kannel = await Kannel.start(bench.newFolder())
  if (!kannel) return null
  bench.keep(kannel)
  const { port, pid, version } = kannel
  const foreign = { requests: kannel.requests(numbers), takenStatus: KANNEL_TAKES }
  const { perSecond, allReplies } = await bench.load({ port, pid, token: '', numbers, sockets: SOCKETS, foreign })
  const stored = kannel.stored()
  if (stored < allReplies) bench.options.tell(`  ! of ${allReplies} messages Kannel has stored ${stored}`)
  await bench.end(kannel)
  return { perSecond, version }
}
