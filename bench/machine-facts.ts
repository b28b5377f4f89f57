import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { readText } from '../src/operations/doctor/machine/read-text.ts'
import { percentile } from './statistics.ts'

const FLUSHES = 200
const PAGE_BYTES = 4096

/** What a reader must know to understand the figures. Nothing in it identifies the owner of the machine. */
export interface MachineFacts {
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  readonly sqlite: string
  /**
   * After how many seconds the kernel begins to write out what programs have written; null if unknown. It then writes everything
   * collected so far, and flushes wait behind it.
   */
  readonly writesOutAfterSeconds: number | null
  /**
   * How many microseconds an idle core of a virtual machine stays awake at most; null if the machine does not decide that itself.
   * A message that comes alone waits four times for a core to wake up.
   */
  readonly staysAwakeUs: number | null
  /** How long the disk takes to make one page durable. */
  readonly flushP50Ms: number
  readonly flushP99Ms: number
}

export function readMachineFacts(folder: string): MachineFacts {
  const flushes = timeFlushes(join(folder, 'flushes'))
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${process.platform} ${release()}`,
    node: process.versions.node,
    sqlite: process.versions['sqlite'] ?? 'unknown',
    writesOutAfterSeconds: readWritesOutAfter(),
    staysAwakeUs: readStaysAwake(),
    flushP50Ms: rounded(percentile(flushes, 0.5)),
    flushP99Ms: rounded(percentile(flushes, 0.99)),
  }
}

function readWritesOutAfter(): number | null {
  const hundredths = readText('/proc/sys/vm/dirty_expire_centisecs')
  return hundredths === null ? null : Number(hundredths) / 100
}

// Named guest_halt_poll_ns in the kernel's documentation, under “Guest halt polling”.
function readStaysAwake(): number | null {
  if (readText('/sys/devices/system/cpu/cpuidle/current_governor')?.trim() !== 'haltpoll') return null
  const nanoseconds = readText('/sys/module/haltpoll/parameters/guest_halt_poll_ns')
  return nanoseconds === null ? null : Number(nanoseconds) / 1000
}

function timeFlushes(path: string): number[] {
  const page = Buffer.alloc(PAGE_BYTES, 1)
  const file = openSync(path, 'w')
  const took: number[] = []
  for (let flush = 0; flush < FLUSHES; flush += 1) {
    const startedMs = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    took.push(performance.now() - startedMs)
  }
  closeSync(file)
  return took
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
