import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../test/support/black-box/free-port.ts'
import { NuncioProcess } from '../test/support/black-box/nuncio-process.ts'
import { Child } from './child.ts'
import type { LoadCalls } from './load-generator.ts'
import type { LoadJob, LoadResult } from './load-run.ts'
import { type MadeData, makeData, type WantedData } from './made-data.ts'
import { cpuSecondsOf } from './process-facts.ts'
import type { ReferenceCalls } from './reference-server.ts'
import type { InstantCalls } from './serve-instantly.ts'
import { BENCH_ENVIRONMENT } from './settings-for.ts'

export interface BenchOptions {
  /** How long each turn counts. */
  readonly seconds: number
  /** How often each thing is measured, in turns with the others. */
  readonly rounds: number
  /** Small numbers of everything: shows that the bench runs, says nothing about speed. */
  readonly isQuick: boolean
  /** How many rows the part about many rows makes. */
  readonly rows: 'small' | 'full'
  readonly tell: (line: string) => void
}

/** Who sends as whom, and to which server. */
export type LoadSide = Pick<LoadJob, 'port' | 'token' | 'numbers'> & { readonly pid: number }
export type WantedLoad = LoadSide & Pick<LoadJob, 'sockets'> & Partial<LoadJob>

/** A server that takes requests. */
export interface Target {
  readonly port: number
  readonly pid: number
}

export function loadOf({ token, numbers }: MadeData, { port, pid }: Target): LoadSide {
  return { port, pid, token, numbers }
}

/** What the running service says of itself. */
export async function readGauge(port: number, name: 'nuncio_messages_waiting' | 'nuncio_lanes_held'): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(await reply.text())
  if (!found) throw new Error(`/metrics says nothing of ${name}`)
  return Number(found[1])
}

export interface Instant extends Target {
  readonly child: Child<InstantCalls>
}

const MEMORY_FILE_SYSTEMS = [0x01021994, 0x858458f6]

/** What all parts share: the folder on the disk, the load generator, the reference, and every process that was started. */
export class Bench {
  readonly options: BenchOptions
  readonly folder: string
  readonly #running = new Set<{ stop(): Promise<void> }>()
  #made = 0
  #generator: Child<LoadCalls> | null = null
  #reference: Promise<Target> | null = null

  constructor(options: BenchOptions) {
    this.options = options
    this.folder = mkdtempSync(join(diskFolder(), 'nuncio-bench-'))
  }

  get warmUpSeconds(): number {
    return this.options.isQuick ? 0.2 : 1
  }

  warmUp(): Promise<void> {
    return pause(this.warmUpSeconds * 1000)
  }

  /**
   * Puts load on a server from the one generator; as much as it takes, unless a rate is given. What it cost the server
   * hardly depends on who else uses the machine, while the rate does.
   */
  async load({ pid, ...job }: WantedLoad): Promise<LoadResult & { readonly serverCpuUs: number }> {
    this.#generator ??= this.keep(new Child<LoadCalls>('./load-generator.ts'))
    const { seconds } = this.options
    const cpuBefore = cpuSecondsOf(pid)
    const result = await this.#generator.ask('load', {
      seconds,
      warmUpSeconds: this.warmUpSeconds,
      ratePerSecond: null,
      ...job,
    })
    if (result.refused > 0) this.options.tell(`  ! ${result.refused} of ${result.replies} replies were refusals`)
    return { ...result, serverCpuUs: ((cpuSecondsOf(pid) - cpuBefore) / result.allReplies) * 1e6 }
  }

  /** The bare route. */
  reference(): Promise<Target> {
    this.#reference ??= this.#startReference()
    return this.#reference
  }

  async #startReference(): Promise<Target> {
    const child = this.keep(new Child<ReferenceCalls>('./reference-server.ts'))
    return { pid: child.pid, port: await child.ask('listen', null) }
  }

  newFolder(): string {
    this.#made += 1
    const path = join(this.folder, String(this.#made))
    mkdirSync(path)
    return path
  }

  data(wanted: Omit<WantedData, 'dataDir'>): Promise<MadeData> {
    return makeData({ ...wanted, dataDir: this.newFolder() })
  }

  /** The real service, as an operator starts it, but not started yet. */
  async service(dataDir: string, environment: Readonly<Record<string, string>> = {}): Promise<NuncioProcess> {
    const port = await findFreePort()
    const workDir = this.newFolder()
    return this.keep(
      new NuncioProcess({ dataDir, port, workDir, environment: { ...BENCH_ENVIRONMENT, ...environment } }),
    )
  }

  /** The service on the instant channel, running. */
  async instant(dataDir: string, environment: Readonly<Record<string, string>> = {}): Promise<Instant> {
    const child = this.keep(new Child<InstantCalls>('./serve-instantly.ts', { flags: ['--expose-gc'] }))
    return { child, pid: child.pid, port: await child.ask('start', { dataDir, environment }) }
  }

  keep<Started extends { stop(): Promise<void> }>(started: Started): Started {
    this.#running.add(started)
    return started
  }

  async end(started: { stop(): Promise<void> }): Promise<void> {
    this.#running.delete(started)
    await started.stop()
  }

  /** Makes room: a part's databases may take gigabytes. */
  forget(dataDir: string): void {
    rmSync(dataDir, { recursive: true, force: true })
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#running].map((started) => this.end(started)))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A commit that only reaches memory says nothing about a durable one. */
function diskFolder(): string {
  if (!MEMORY_FILE_SYSTEMS.includes(statfsSync(tmpdir()).type)) return tmpdir()
  return fileURLToPath(new URL('../node_modules/', import.meta.url))
}
