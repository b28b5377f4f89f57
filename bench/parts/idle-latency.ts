import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Instant } from '../bench.ts'
import { Caller } from '../caller.ts'
import type { EngineName } from '../engine.ts'
import type { Figure } from '../figure.ts'
import { machineMs } from '../machine-clock.ts'
import type { MadeData } from '../made-data.ts'
import { sendRequest } from '../send-request.ts'
import { percentile } from '../statistics.ts'

const PART = 'latency'
// Longer than anything that a message still causes, so that each message finds the service idle.
const PAUSE_MS = 15

// PostgreSQL is queried over a socket, and twice: for the lane and for its first message.
const MOST_P50_MS: Readonly<Record<EngineName, number>> = { sqlite: 3, postgres: 8 }

interface Sample {
  readonly replyMs: number
  readonly calledAfterCommitMs: number
}

/** One message at a time on a service that is otherwise idle. */
export async function measureIdleLatency(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const messages = bench.options.isQuick ? 20 : 400
  const data = await bench.data({ engine, connections: messages, channel: 'instant', state: 'active' })
  const instant = await bench.instant(data)
  // First each lane's first message, for which the lane must be claimed; then all on a lane that is held.
  const cold = await sendSlowly(bench, instant, { data, numbers: data.numbers })
  const warm = await sendSlowly(bench, instant, { data, numbers: data.numbers.map(() => data.numbers[0] ?? '') })
  await bench.end(instant.child)
  await bench.forget(data)
  return [
    ...figuresOf('a lane at rest', cold, { atMost: MOST_P50_MS[engine] }),
    ...figuresOf('a lane used a moment ago', warm, null),
    figureOf(
      'reply to an only request',
      warm.map(({ replyMs }) => replyMs),
      0.5,
    ),
    figureOf(
      'reply to an only request',
      warm.map(({ replyMs }) => replyMs),
      0.99,
    ),
  ]
}

interface Sending {
  readonly data: MadeData
  readonly numbers: readonly string[]
}

async function sendSlowly(bench: Bench, { child, port }: Instant, { data, numbers }: Sending): Promise<Sample[]> {
  await child.ask('trace', null)
  const replied = new Map<string, number>()
  let wake = () => {}
  const caller = await Caller.open({
    port,
    onReply: (self, begunMs) => {
      if (self.messageId) replied.set(self.messageId, machineMs() - begunMs)
      wake()
    },
    onBroken: (error) => bench.options.print(`  ! ${error.message}`),
  })
  caller.noteIds()
  for (const from of numbers) {
    const reply = new Promise<void>((resolve) => {
      wake = resolve
    })
    caller.send(sendRequest({ token: data.token, from }), machineMs())
    await reply
    await pause(PAUSE_MS)
  }
  caller.close()
  await pause(100)
  const traced = await child.ask('takeTraced', null)
  return traced.map(({ messageId, committedMs, calledMs }) => ({
    replyMs: replied.get(messageId) ?? 0,
    calledAfterCommitMs: calledMs - committedMs,
  }))
}

function figuresOf(what: string, samples: readonly Sample[], reach: Figure['reach']): Figure[] {
  const times = samples.map(({ calledAfterCommitMs }) => calledAfterCommitMs)
  const name = `accepted → channel called, ${what}`
  return [{ ...figureOf(name, times, 0.5), reach }, figureOf(name, times, 0.99)]
}

function figureOf(name: string, times: readonly number[], share: number): Figure {
  return {
    part: PART,
    name: `${name}, p${share * 100}`,
    value: percentile(times, share),
    unit: 'ms',
    reach: null,
    rounds: [],
    note: `${times.length} messages, one at a time`,
  }
}
