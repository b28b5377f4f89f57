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
import { ask, PostgresForBench } from './postgres-for-bench.ts'
import { cpuSecondsOfFamily } from './process-facts.ts'
import type { ReferenceCalls } from './reference-server.ts'
import type { InstantCalls } from './serve-instantly.ts'
import { BENCH_ENVIRONMENT } from './settings-for.ts'

interface BenchOptions {
  /** How long each turn counts. */
  readonly seconds: number
  /** How often each thing is measured, in turns with the others. */
  readonly rounds: number
  /** Small numbers of everything: shows that the bench runs, says nothing about speed. */
  readonly isQuick: boolean
  /** How many rows the part about many rows makes. */
  readonly rows: 'small' | 'full'
  readonly print: (line: string) => void
}

/** Which caller sends as which sender, and to which server. */
export type LoadSide = Pick<LoadJob, 'port' | 'token' | 'numbers'> & { readonly pid: number }
type WantedLoad = LoadSide & Pick<LoadJob, 'sockets'> & Partial<LoadJob>

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

interface ServiceOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly serveArguments?: readonly string[]
}

export interface Instant extends Target {
  readonly child: Child<InstantCalls>
}

const SENT_WITHIN_MS = 60_000
const MEMORY_FILE_SYSTEMS = [0x01021994, 0x858458f6]

/** What all parts share: the folder on the disk, the load generator, the reference, and every process that was started. */
export class Bench {
  readonly options: BenchOptions
  readonly folder: string
  readonly #running = new Set<{ stop(): Promise<void> }>()
  #made = 0
  #generator: Child<LoadCalls> | null = null
  #reference: Promise<Target> | null = null
  #postgres: Promise<PostgresForBench> | null = null

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
    const cpuBefore = cpuSecondsOfFamily(pid)
    const result = await this.#generator.ask('load', {
      seconds,
      warmUpSeconds: this.warmUpSeconds,
      ratePerSecond: null,
      ...job,
    })
    if (result.refused > 0) this.options.print(`  ! ${result.refused} of ${result.replies} replies were refusals`)
    return { ...result, serverCpuUs: ((cpuSecondsOfFamily(pid) - cpuBefore) / result.allReplies) * 1e6 }
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

  /** The server of everything that is measured on PostgreSQL. */
  postgres(): Promise<PostgresForBench> {
    // Not in our own folder, which no other user may enter.
    this.#postgres ??= PostgresForBench.open(diskFolder())
    return this.#postgres
  }

  /** Null as long as nothing was measured on it. */
  async postgresFacts(): Promise<string | null> {
    return (await this.#postgres)?.facts ?? null
  }

  /** A fresh database with an account, its connections and a token. */
  async data(wanted: WantedData): Promise<MadeData> {
    const databaseUrl = wanted.engine === 'postgres' ? await (await this.postgres()).createDatabase() : null
    return makeData(wanted, { dataDir: this.newFolder(), databaseUrl })
  }

  /** How many messages wait; `port` is that of a service that is running on them. */
  async countWaiting({ engine, database }: MadeData, port: number): Promise<number> {
    if (engine === 'sqlite') return readGauge(port, 'nuncio_messages_waiting')
    // The service itself polls only now and then.
    const [row] = await ask<{ waiting: string }>(database, 'select count(*) as waiting from queued')
    return Number(row?.waiting)
  }

  /** The real service, as an operator starts it, but not started yet. */
  async service(data: MadeData, more: ServiceOptions = {}): Promise<NuncioProcess> {
    const port = await findFreePort()
    const workDir = this.newFolder()
    const environment = { ...BENCH_ENVIRONMENT, ...data.environment, ...more.environment }
    const serveArguments = more.serveArguments ?? []
    return this.keep(new NuncioProcess({ dataDir: data.dataDir, port, workDir, environment, serveArguments }))
  }

  /** The service on the instant channel, running. */
  async instant(data: MadeData, more: Readonly<Record<string, string>> = {}): Promise<Instant> {
    const child = this.keep(new Child<InstantCalls>('./serve-instantly.ts', { flags: ['--expose-gc'] }))
    const environment = { ...data.environment, ...more }
    return { child, pid: child.pid, port: await child.ask('start', { dataDir: data.dataDir, environment }) }
  }

  /** Until it has sent so many. The first may take a while after a start. */
  async hasSent({ child }: Instant, wanted: number): Promise<void> {
    const endMs = performance.now() + SENT_WITHIN_MS
    for (;;) {
      const { sent } = await child.ask('progress', null)
      if (sent >= wanted) return
      if (performance.now() > endMs) throw new Error(`The service has sent ${sent} messages, and not ${wanted}`)
      await pause(10)
    }
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
  async forget({ engine, dataDir, database }: MadeData): Promise<void> {
    if (engine === 'postgres') await (await this.postgres()).dropDatabase(database)
    rmSync(dataDir, { recursive: true, force: true })
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#running].map((started) => this.end(started)))
    // What did not start has said so already.
    await this.#postgres?.then((server) => server.stop()).catch(() => {})
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A commit that only reaches memory says nothing about a durable one. */
function diskFolder(): string {
  if (!MEMORY_FILE_SYSTEMS.includes(statfsSync(tmpdir()).type)) return tmpdir()
  return fileURLToPath(new URL('../node_modules/', import.meta.url))
}
