import type { Bench } from './bench.ts'
import type { Figure } from './figure.ts'
import { measureAcceptAndDeliver } from './parts/accept-and-deliver.ts'
import { measureDispatch } from './parts/dispatch.ts'
import { measureDurableAccepts } from './parts/durable-accepts.ts'
import { measureIdleLatency } from './parts/idle-latency.ts'
import { measureManyRows } from './parts/many-rows.ts'
import { measureMedia } from './parts/media.ts'
import { measureMemory } from './parts/memory.ts'

export interface Part {
  /** What `--only` takes. */
  readonly name: string
  readonly what: string
  readonly isForQuick: boolean
  readonly measure: (bench: Bench) => Promise<Figure[]>
}

/** In this order, so that what fills the disk comes late. */
export const PARTS: readonly Part[] = [
  { name: 'accepts', what: 'accepting alone, lanes paused', isForQuick: true, measure: measureDurableAccepts },
  { name: 'deliver', what: 'accepting and delivering at once', isForQuick: true, measure: measureAcceptAndDeliver },
  { name: 'dispatch', what: 'dispatching a backlog', isForQuick: true, measure: measureDispatch },
  { name: 'latency', what: 'one message at a time', isForQuick: true, measure: measureIdleLatency },
  { name: 'media', what: 'a large file, and a stalled host', isForQuick: true, measure: measureMedia },
  { name: 'memory', what: 'resident memory', isForQuick: true, measure: measureMemory },
  { name: 'rows', what: 'a database with many rows', isForQuick: false, measure: measureManyRows },
]
