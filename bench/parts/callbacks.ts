import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { Child } from '../child.ts'
import { APP, APP_SECRET, connectCloudNumbers } from '../cloud-numbers.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { CallbackFigures, GraphCalls } from '../instant-graph.ts'
import { type PerMessage, perMessage, serverFigures, spentBy } from '../server-costs.ts'
import { median } from '../statistics.ts'

const PART = 'callbacks'
const LANES = 25
// Ten a second from each number, which is far less than Meta lets it send.
const SENDS_PER_SECOND = 250
const CALLBACKS_PER_MESSAGE = 3
// Meta accepts ten messages a minute from one number to one recipient.
const RECIPIENTS = 200
const SOCKETS = 32

interface Turn extends CallbackFigures {
  readonly sent: number
  readonly applied: number
  readonly cpuUs: number
  readonly server: PerMessage | null
}

/**
 * Sends at a steady rate while the network sends three reports about each message, for which Meta says a service must be ready.
 */
export async function measureCallbacks(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const data = await bench.data({ engine, connections: 0, channel: 'sandbox', state: 'active' })
  const numbers = await connectCloudNumbers(data, LANES)
  const graph = bench.keep(new Child<GraphCalls>('./instant-graph.ts'))
  const environment = { NUNCIO_WHATSAPP_CLOUD_URL: `http://127.0.0.1:${await graph.ask('listen', null)}` }
  const service = await bench.service(data, { environment })
  await service.start()
  const { port } = service.settings
  const load = { port, pid: service.pid, token: data.token, numbers, sockets: SOCKETS, recipients: RECIPIENTS }
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const spentBefore = await spentBy(bench, engine)
    const appliedBefore = await countApplied(port)
    await graph.ask('callBackTo', { port, path: `/channels/whatsapp-cloud/${APP}`, appSecret: APP_SECRET })
    await graph.ask('takeFigures', null)
    const { allReplies, serverCpuUs: cpuUs } = await bench.load({ ...load, ratePerSecond: SENDS_PER_SECOND })
    const applied = await untilApplied(port, appliedBefore + allReplies * CALLBACKS_PER_MESSAGE)
    const server = perMessage(spentBefore, await spentBy(bench, engine), allReplies)
    const turn = {
      ...(await graph.ask('takeFigures', null)),
      sent: allReplies,
      applied: applied - appliedBefore,
      cpuUs,
      server,
    }
    turns.push(turn)
    bench.options.print(
      `  round ${round}: ${turn.replies} callbacks of ${turn.sent} messages, p50 ${formatNumber(turn.p50Ms)} ms, ` +
        `p99 ${formatNumber(turn.p99Ms)} ms, longest ${formatNumber(turn.longestMs)} ms, ${turn.applied} applied`,
    )
    if (turn.refused > 0) bench.options.print(`  ! ${turn.refused} callbacks were not answered with 200`)
  }
  await bench.end(service)
  await bench.end(graph)
  await bench.forget(data)
  return figuresOf(turns)
}

/** Waits until this many reports are applied, or no more come. Returns how many are. */
async function untilApplied(port: number, wanted: number): Promise<number> {
  const endMs = performance.now() + 10_000
  for (;;) {
    const applied = await countApplied(port)
    if (applied >= wanted || performance.now() > endMs) return applied
    await pause(100)
  }
}

async function countApplied(port: number): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  const found = (await reply.text()).matchAll(/^nuncio_callback_reports_total\{.*result="applied".*\} (\d+)$/gm)
  return [...found].reduce((sum, [, count]) => sum + Number(count), 0)
}

function figuresOf(turns: readonly Turn[]): Figure[] {
  const p99s = turns.map(({ p99Ms }) => p99Ms)
  const shares = turns.map(({ applied, sent }) => applied / (sent * CALLBACKS_PER_MESSAGE))
  const cpuUs = median(turns.map((turn) => turn.cpuUs))
  const longestMs = Math.max(...turns.map((turn) => turn.longestMs))
  return [
    {
      part: PART,
      name: 'answer to a callback at three times the sending rate, p99',
      value: median(p99s),
      unit: 'ms',
      reach: { atMost: 250 },
      rounds: p99s,
      note: `${SENDS_PER_SECOND} messages/s; p50 ${formatNumber(median(turns.map(({ p50Ms }) => p50Ms)))} ms, longest ${formatNumber(longestMs)} ms; ${formatNumber(cpuUs)} µs of CPU in Node for a message with its ${CALLBACKS_PER_MESSAGE} callbacks`,
    },
    {
      part: PART,
      name: 'reports applied / reports of messages',
      value: median(shares),
      unit: '',
      reach: { atLeast: 0.999 },
      rounds: shares,
      note: 'within ten seconds of the last message',
    },
    ...serverFigures(PART, 'a message and its callbacks', turns),
  ]
}
