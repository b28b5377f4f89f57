import { setTimeout as pause } from 'node:timers/promises'
import { type Bench, loadOf, readGauge } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import type { Figure } from '../figure.ts'
import { preload } from '../preload.ts'
import { canSeeProcesses, peakMbOf, residentMbOf } from '../process-facts.ts'

const PART = 'memory'
const SOCKETS = 128
const SETTLE_MS = 2_000

/** Resident memory, as the system reports it. */
export async function measureMemory(bench: Bench, engine: EngineName): Promise<Figure[]> {
  if (!canSeeProcesses()) {
    bench.options.print('  skipped: this system does not say how much memory another process has')
    return []
  }
  return [await idle(bench, engine), await atFullLoad(bench, engine), await idleConnections(bench, engine)]
}

async function idle(bench: Bench, engine: EngineName): Promise<Figure> {
  const data = await bench.data({ engine, connections: 10, channel: 'sandbox', state: 'active' })
  const service = await bench.service(data)
  await service.start()
  await pause(SETTLE_MS)
  const value = residentMbOf(service.pid)
  await bench.end(service)
  await bench.forget(data)
  return figureOf('idle', value, { reach: { atMost: 120 }, note: 'the real service, just started, 10 connections' })
}

async function atFullLoad(bench: Bench, engine: EngineName): Promise<Figure> {
  const waiting = bench.options.isQuick ? 20_000 : 1_000_000
  const data = await bench.data({ engine, connections: 1_000, channel: 'instant', state: 'active' })
  await preload(data, { waiting, settled: 0 })
  const instant = await bench.instant(data)
  const { child, port } = instant
  await bench.load({ ...loadOf(data, instant), sockets: SOCKETS, seconds: bench.options.seconds * 2 })
  const value = peakMbOf(child.pid)
  const left = await bench.countWaiting(data, port)
  await bench.end(child)
  await bench.forget(data)
  const note = `the most while it accepts and delivers at full speed; ${left.toLocaleString('en')} of ${waiting.toLocaleString('en')} still waiting at the end`
  return figureOf('full load with a million waiting', value, { reach: { atMost: 350 }, note })
}

/** The same number of messages through few connections and through many, so that only the number of connections differs. */
async function idleConnections(bench: Bench, engine: EngineName): Promise<Figure> {
  const many = bench.options.isQuick ? 1_000 : 10_000
  const few = await restAfter(bench, { engine, connections: 10, messages: many })
  const withMany = await restAfter(bench, { engine, connections: many, messages: many })
  const note = `each carried one message and its lane is still held; after garbage collection; without them ${Math.round(few.mb)} MB; ${withMany.lanes} lanes held`
  const name = `cost of ${many.toLocaleString('en')} idle connections`
  return figureOf(name, withMany.mb - few.mb, { reach: { atMost: 20 }, note })
}

interface WantedRest {
  readonly engine: EngineName
  readonly connections: number
  readonly messages: number
}

async function restAfter(bench: Bench, { engine, connections, messages }: WantedRest) {
  const data = await bench.data({ engine, connections, channel: 'instant', state: 'active' })
  await preload(data, { waiting: messages, settled: 0 })
  const { child, port } = await bench.instant(data)
  while ((await child.ask('progress', null)).sent < messages) await pause(50)
  await pause(SETTLE_MS / 2)
  await child.ask('collectGarbage', null)
  await pause(SETTLE_MS / 2)
  const rest = { mb: residentMbOf(child.pid), lanes: await readGauge(port, 'nuncio_lanes_held') }
  await bench.end(child)
  await bench.forget(data)
  return rest
}

function figureOf(name: string, value: number, { reach, note }: Pick<Figure, 'reach' | 'note'>): Figure {
  return { part: PART, name: `memory: ${name}`, value, unit: 'MB', reach, rounds: [], note }
}
