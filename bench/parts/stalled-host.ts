import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Instant } from '../bench.ts'
import { Caller } from '../caller.ts'
import type { EngineName } from '../engine.ts'
import type { Figure } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { MediaHost } from '../media-host.ts'
import { sendRequest } from '../send-request.ts'
import { percentile } from '../statistics.ts'

const PART = 'media'
const STALLED_LANES = 20
const SMALL_FILE_BYTES = 20_000
const PAUSE_MS = 15
const CALLED_WITHIN_MS = 10_000

interface Kind {
  readonly name: string
  readonly url: string | null
}

/** The effect on other lanes of the same account of a host that reads requests and never answers. */
export async function measureBesideStalledHost(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const gives = bench.keep(await MediaHost.open('127.0.0.1', 'gives'))
  const stalls = bench.keep(await MediaHost.open('127.0.0.2', 'stalls'))
  const data = await bench.data({ engine, connections: STALLED_LANES + 1, channel: 'instant', state: 'active' })
  const instant = await bench.instant(data, { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' })
  await instant.child.ask('trace', null)
  const kinds: Kind[] = [
    { name: 'texts', url: null },
    { name: 'documents of another host', url: gives.urlOf(SMALL_FILE_BYTES) },
  ]
  const without = await sendKinds(bench, { data, instant, kinds })
  for (const from of data.numbers.slice(1)) {
    await send(bench, instant, sendRequest({ token: data.token, from, documentUrl: stalls.urlOf(1) }))
  }
  const beside = await sendKinds(bench, { data, instant, kinds })
  await bench.end(instant.child)
  for (const host of [gives, stalls]) await bench.end(host)
  await bench.forget(data)
  return kinds.flatMap(({ name }, place) => figuresOf(name, without[place] ?? [], beside[place] ?? []))
}

interface Sending {
  readonly data: MadeData
  readonly instant: Instant
  readonly kinds: readonly Kind[]
}

/**
 * The times from the commit to the call of the channel, for each kind. A message that is not called in time counts with the whole
 * wait.
 */
async function sendKinds(bench: Bench, { data, instant, kinds }: Sending): Promise<number[][]> {
  const messages = bench.options.isQuick ? 5 : 100
  const times: number[][] = []
  for (const { name, url } of kinds) {
    const request = { token: data.token, from: data.numbers[0] ?? '', ...(url === null ? {} : { documentUrl: url }) }
    const ofKind: number[] = []
    while (ofKind.length < messages) {
      await send(bench, instant, sendRequest(request))
      const took = await calledAfterMs(instant)
      ofKind.push(took)
      // One message that waits this long is enough, and those behind it wait for it.
      if (took === CALLED_WITHIN_MS) break
      await pause(PAUSE_MS)
    }
    bench.options.print(`  ${name}: p50 ${percentile(ofKind, 0.5).toFixed(2)} ms of ${ofKind.length}`)
    times.push(ofKind)
  }
  return times
}

async function calledAfterMs({ child }: Instant): Promise<number> {
  const endMs = performance.now() + CALLED_WITHIN_MS
  while (performance.now() < endMs) {
    const [traced] = await child.ask('takeTraced', null)
    if (traced) return traced.calledMs - traced.committedMs
    await pause(1)
  }
  return CALLED_WITHIN_MS
}

async function send(bench: Bench, { port }: Instant, request: Buffer): Promise<void> {
  const replied = Promise.withResolvers<number>()
  const caller = await Caller.open({
    port,
    onReply: (_caller, _begunMs, status) => replied.resolve(status),
    onBroken: (error) => bench.options.print(`  ! ${error.message}`),
  })
  caller.send(request, 0)
  const status = await replied.promise
  caller.close()
  if (status !== 200) throw new Error(`A message was answered with ${status}`)
}

function figuresOf(name: string, without: readonly number[], beside: readonly number[]): Figure[] {
  return [0.5, 0.99].map((share) => {
    const before = percentile(without, share)
    const note = `without the stalled host ${before.toFixed(2)} ms; ${STALLED_LANES} lanes wait for that host`
    const label = `beside a stalled host, ${name}, p${share * 100}`
    return { part: PART, name: label, value: percentile(beside, share), unit: 'ms', reach: null, rounds: [], note }
  })
}
