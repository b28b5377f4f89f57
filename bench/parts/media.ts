import { setTimeout as pause } from 'node:timers/promises'
import { openAdministration } from '../../src/server/wiring/open-administration.ts'
import type { Bench } from '../bench.ts'
import { Caller } from '../caller.ts'
import type { EngineName } from '../engine.ts'
import type { Figure } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { MediaHost } from '../media-host.ts'
import { canSeeProcesses, forgetPeak, peakMbOf, residentMbOf } from '../process-facts.ts'
import { sendRequest } from '../send-request.ts'
import { settingsFor } from '../settings-for.ts'
import { measureBesideStalledHost } from './stalled-host.ts'

const ALLOWS_LOOPBACK = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }
const PART = 'media'
const LARGE_BYTES = 100_000_000
const QUICK_BYTES = 10_000_000
const DELIVERED_WITHIN_MS = 60_000

export async function measureMedia(bench: Bench, engine: EngineName): Promise<Figure[]> {
  return [...(await measureLargeFile(bench, engine)), ...(await measureBesideStalledHost(bench, engine))]
}

/** A whole document through the real service and the sandbox, which stores a copy of it. */
async function measureLargeFile(bench: Bench, engine: EngineName): Promise<Figure[]> {
  if (!canSeeProcesses()) return []
  const sizeBytes = bench.options.isQuick ? QUICK_BYTES : LARGE_BYTES
  const host = bench.keep(await MediaHost.open('127.0.0.1', 'gives'))
  const data = await bench.data({ engine, connections: 1, channel: 'sandbox', state: 'active' })
  const service = await bench.service(data, { environment: ALLOWS_LOOPBACK })
  await service.start()
  // Sends a small file first: loading code for the first attachment is not part of the cost of a large one.
  await sendDocument(bench, { data, port: service.settings.port, url: host.urlOf(10_000), published: 1 })
  forgetPeak(service.pid)
  const beforeMb = residentMbOf(service.pid)
  const startedMs = performance.now()
  await sendDocument(bench, { data, port: service.settings.port, url: host.urlOf(sizeBytes), published: 2 })
  const seconds = (performance.now() - startedMs) / 1000
  const value = peakMbOf(service.pid) - beforeMb
  await bench.end(service)
  await bench.end(host)
  await bench.forget(data)
  const name = `memory: one document of ${sizeBytes / 1e6} MB`
  const note = `the most above ${Math.round(beforeMb)} MB before; fetched and delivered in ${seconds.toFixed(1)} s`
  return [{ part: PART, name, value, unit: 'MB', reach: { atMost: 40 }, rounds: [], note }]
}

interface Document {
  readonly data: MadeData
  readonly port: number
  readonly url: string
  /** How many messages must be published after it was sent. */
  readonly published: number
}

async function sendDocument(bench: Bench, { data, port, url, published }: Document): Promise<void> {
  const replied = Promise.withResolvers<number>()
  const caller = await Caller.open({
    port,
    onReply: (_caller, _begunMs, status) => replied.resolve(status),
    onBroken: (error) => bench.options.print(`  ! ${error.message}`),
  })
  caller.send(sendRequest({ token: data.token, from: data.numbers[0] ?? '', documentUrl: url }), 0)
  const status = await replied.promise
  caller.close()
  if (status !== 200) throw new Error(`The document was answered with ${status}`)
  const end = performance.now() + DELIVERED_WITHIN_MS
  while ((await countPublished(data)) < published) {
    if (performance.now() > end) throw new Error('The document was not delivered')
    await pause(50)
  }
}

async function countPublished({ dataDir, environment }: MadeData): Promise<number> {
  const storage = await openAdministration(settingsFor(dataDir, environment), { create: false })
  const filter = { accountId: null, connectionId: null, state: 'PUBLISHED', limit: null } as const
  let published = 0
  for await (const _message of storage.administration.listMessages(filter)) published += 1
  await storage.close()
  return published
}
