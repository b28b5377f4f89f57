import type { Bench } from './bench.ts'
import { ENGINES, type EngineName } from './engine.ts'
import type { Figure, PlacedFigure } from './figure.ts'
import { measureAcceptAndDeliver } from './parts/accept-and-deliver.ts'
import { measureBodies } from './parts/bodies.ts'
import { measureBridge } from './parts/bridge.ts'
import { measureCallbacks } from './parts/callbacks.ts'
import { measureConsole } from './parts/console.ts'
import { measureDeferred } from './parts/deferred.ts'
import { measureDispatch } from './parts/dispatch.ts'
import { measureDurableAccepts } from './parts/durable-accepts.ts'
import { measureIdleLatency } from './parts/idle-latency.ts'
import { measureLogPages } from './parts/log-pages.ts'
import { measureManyRows } from './parts/many-rows.ts'
import { measureMedia } from './parts/media.ts'
import { measureMemory } from './parts/memory.ts'
import { measurePeers } from './parts/peers/measure-peers.ts'
import { measureProcesses } from './parts/processes.ts'
import { measureWhatsAppWeb } from './parts/whatsapp-web.ts'

export interface Part {
  /** The name for `--only`. */
  readonly name: string
  readonly what: string
  readonly isForQuick: boolean
  /** The engines on which it is measured, one after the other. Null: it is not about one engine. */
  readonly engines: readonly EngineName[] | null
  readonly measure: (bench: Bench, engine: EngineName) => Promise<Figure[]>
}

/** In this order, so that the parts that fill the disk come late. */
export const PARTS: readonly Part[] = [
  {
    name: 'accepts',
    what: 'accepting alone, lanes paused',
    isForQuick: true,
    engines: ENGINES,
    measure: measureDurableAccepts,
  },
  {
    name: 'deliver',
    what: 'accepting and delivering at once',
    isForQuick: true,
    engines: ENGINES,
    measure: measureAcceptAndDeliver,
  },
  { name: 'dispatch', what: 'dispatching a backlog', isForQuick: true, engines: ENGINES, measure: measureDispatch },
  {
    name: 'deferred',
    what: 'lanes with deferred messages',
    isForQuick: true,
    engines: ENGINES,
    measure: measureDeferred,
  },
  { name: 'latency', what: 'one message at a time', isForQuick: true, engines: ENGINES, measure: measureIdleLatency },
  {
    name: 'processes',
    what: 'several processes on one database',
    isForQuick: true,
    engines: ['postgres'],
    measure: measureProcesses,
  },
  { name: 'peers', what: 'other queues beside ours', isForQuick: true, engines: null, measure: measurePeers },
  {
    name: 'media',
    what: 'a large file, and a stalled host',
    isForQuick: true,
    engines: ['sqlite'],
    measure: measureMedia,
  },
  { name: 'memory', what: 'resident memory', isForQuick: true, engines: ['sqlite'], measure: measureMemory },
  {
    name: 'log',
    what: 'pages of the API log in the console',
    isForQuick: true,
    engines: ENGINES,
    measure: measureLogPages,
  },
  {
    name: 'console',
    what: 'accepting while people use the console',
    isForQuick: true,
    engines: ENGINES,
    measure: measureConsole,
  },
  {
    name: 'callbacks',
    what: 'reports of the network at three times the sending rate',
    isForQuick: true,
    engines: ENGINES,
    measure: measureCallbacks,
  },
  {
    name: 'bridge',
    what: 'one lane behind an adapter, alone and beside adapters that hang',
    isForQuick: true,
    engines: ENGINES,
    measure: measureBridge,
  },
  {
    name: 'whatsapp-web',
    what: 'linked devices on a simulated WhatsApp',
    isForQuick: true,
    engines: ['sqlite'],
    measure: measureWhatsAppWeb,
  },
  {
    name: 'bodies',
    what: 'the most expensive bodies that each route takes',
    isForQuick: true,
    engines: ['sqlite'],
    measure: measureBodies,
  },
  { name: 'rows', what: 'a database with many rows', isForQuick: false, engines: ENGINES, measure: measureManyRows },
]

/** Whether `--only` selects this part. It names parts, engines, or both. */
export function isWanted(only: readonly string[], { name }: Part, engine: EngineName | null): boolean {
  const parts = only.filter((wanted) => PARTS.some((part) => part.name === wanted))
  const engines = only.filter((wanted) => !parts.includes(wanted))
  if (parts.length > 0 && !parts.includes(name)) return false
  return engines.length === 0 || (engine === null ? parts.length > 0 : engines.includes(engine))
}

export async function measurePart(bench: Bench, part: Part, only: readonly string[]): Promise<PlacedFigure[]> {
  const figures: PlacedFigure[] = []
  for (const engine of part.engines ?? [null]) {
    if (!isWanted(only, part, engine)) continue
    bench.options.print(`${part.name}${engine === null ? '' : ` on ${engine}`}: ${part.what}`)
    const startedMs = performance.now()
    for (const figure of await part.measure(bench, engine ?? 'postgres')) figures.push({ ...figure, engine })
    bench.options.print(`  took ${Math.round((performance.now() - startedMs) / 1000)} s`)
  }
  return figures
}
