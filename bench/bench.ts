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
  /** How many seconds each turn counts. */
  readonly seconds: number
  /** How often each figure is measured, in turns with the others. */
  readonly rounds: number
  /** Small numbers everywhere: shows that the bench runs, and says nothing about speed. */
  readonly isQuick: boolean
  /** How many rows the part about many rows creates. */
  readonly rows: 'small' | 'full'
  readonly print: (line: string) => void
}

/** The callers, their senders, and the server that they send to. */
export type LoadSide = Pick<LoadJob, 'port' | 'token' | 'numbers'> & { readonly pid: number }
type WantedLoad = LoadSide & Pick<LoadJob, 'sockets'> & Partial<LoadJob>

/** A server that accepts requests. */
export interface Target {
  readonly port: number
  readonly pid: number
}

export function loadOf({ token, numbers }: MadeData, { port, pid }: Target): LoadSide {
  return { port, pid, token, numbers }
}

/** A metric of the running service. */
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

/** Shared by all parts: the folder on the disk, the load generator, the reference, and every process that was started. */
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
   * Puts load on a server from the one generator: as much as the server accepts, unless a rate is given. The cost for the server
   * hardly depends on other users of the machine; the rate does.
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

  /** The server with the bare route. */
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

  /** The server for everything that is measured on PostgreSQL. */
  postgres(): Promise<PostgresForBench> {
    // Not in our own folder, which no other user may enter.
    this.#postgres ??= PostgresForBench.open(diskFolder())
    return this.#postgres
  }

  /** Null if nothing was measured on it. */
  async postgresFacts(): Promise<string | null> {
    return (await this.#postgres)?.facts ?? null
  }

  /** Creates a database with an account, its connections and a token. */
  async data(wanted: WantedData): Promise<MadeData> {
    const databaseUrl = wanted.engine === 'postgres' ? await (await this.postgres()).createDatabase() : null
    return makeData(wanted, { dataDir: this.newFolder(), databaseUrl })
  }

  /** How many messages wait. `port` is that of a running service on this database. */
  async countWaiting({ engine, database }: MadeData, port: number): Promise<number> {
    if (engine === 'sqlite') return readGauge(port, 'nuncio_messages_waiting')
    // The service itself polls this only rarely.
    const [row] = await ask<{ waiting: string }>(database, 'select count(*) as waiting from queued')
    return Number(row?.waiting)
  }

  /** The real service, as an operator starts it. It is not started yet. */
  async service(data: MadeData, more: ServiceOptions = {}): Promise<NuncioProcess> {
    const port = await findFreePort()
    const workDir = this.newFolder()
    const environment = { ...BENCH_ENVIRONMENT, ...data.environment, ...more.environment }
    const serveArguments = more.serveArguments ?? []
    return this.keep(new NuncioProcess({ dataDir: data.dataDir, port, workDir, environment, serveArguments }))
  }

  /** Starts the service with the instant channel. */
  async instant(data: MadeData, more: Readonly<Record<string, string>> = {}): Promise<Instant> {
    const child = this.keep(new Child<InstantCalls>('./serve-instantly.ts', { flags: ['--expose-gc'] }))
    const environment = { ...data.environment, ...more }
    return { child, pid: child.pid, port: await child.ask('start', { dataDir: data.dataDir, environment }) }
  }

  /** Waits until it has sent this many messages. The first may take a while after a start. */
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

  /** Removes the data: the databases of one part may take gigabytes. */
  async forget({ engine, dataDir, database }: MadeData): Promise<void> {
    if (engine === 'postgres') await (await this.postgres()).dropDatabase(database)
    rmSync(dataDir, { recursive: true, force: true })
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#running].map((started) => this.end(started)))
    // A server that did not start has already reported that.
    await this.#postgres?.then((server) => server.stop()).catch(() => {})
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** The folder must be on a disk: a commit that only reaches memory says nothing about a durable one. */
function diskFolder(): string {
  if (!MEMORY_FILE_SYSTEMS.includes(statfsSync(tmpdir()).type)) return tmpdir()
  return fileURLToPath(new URL('../node_modules/', import.meta.url))
}
