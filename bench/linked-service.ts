import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WHATSAPP_WEB } from '../src/channels/whatsapp-web/name.ts'
import type { ConnectionId } from '../src/core/ids.ts'
import type { OfConnection } from '../src/core/ports/console/lanes.ts'
import type { Secrets } from '../src/core/ports/secrets.ts'
import { placeOfCode } from '../src/core/ports/session-requests.ts'
import { type AdministrationSession, openAdministration } from '../src/server/wiring/open-administration.ts'
import { openDatabase } from '../src/storage/sqlite/connection/open-database.ts'
import type { NuncioProcess } from '../test/support/black-box/nuncio-process.ts'
import { LIBRARY_FOLDER } from '../test/support/whatsapp-web/library.ts'
import type { Bench } from './bench.ts'
import { Child } from './child.ts'
import type { MadeData } from './made-data.ts'
import { settingsFor } from './settings-for.ts'
import type { SimulatorCalls } from './simulated-whatsapp.ts'

// The most numbers that a process links at once.
const LINKED_AT_ONCE = 3
const ASKED_EVERY_MS = 50
const READY_WITHIN_MS = 300_000
const SETTINGS = JSON.stringify({ newRecipientsPerDay: null })

/** The real service on SQLite with the simulated WhatsApp. Its numbers are linked by requests, as from a page. */
export class LinkedService {
  readonly data: MadeData
  readonly process: NuncioProcess
  readonly simulator: Child<SimulatorCalls>

  private constructor(parts: Pick<LinkedService, 'data' | 'process' | 'simulator'>) {
    this.data = parts.data
    this.process = parts.process
    this.simulator = parts.simulator
  }

  /** `others`: how many connections, the last ones, stay with the sandbox. */
  static async open(bench: Bench, numbers: number, others: number): Promise<LinkedService> {
    const simulator = bench.keep(new Child<SimulatorCalls>('./simulated-whatsapp.ts'))
    const data = await bench.data({
      engine: 'sqlite',
      connections: numbers + others,
      channel: 'sandbox',
      state: 'active',
    })
    mkdirSync(join(data.dataDir, 'extras'), { recursive: true })
    symlinkSync(LIBRARY_FOLDER, join(data.dataDir, 'extras', WHATSAPP_WEB))
    const process = await bench.service(data, {
      environment: { NUNCIO_WHATSAPP_WEB_URL: await simulator.ask('start', null) },
    })
    const linked = new LinkedService({ data, process, simulator })
    linked.write(
      `update connection set channel = '${WHATSAPP_WEB}', channel_settings = '${SETTINGS}'`,
      data.connections.slice(0, numbers),
    )
    return linked
  }

  /** Changes rows by SQL while the service does not run. */
  write(update: string, connections: MadeData['connections']): void {
    const file = openDatabase(this.data.database, { create: false })
    const one = file.prepare(`${update} where id = ?`)
    file.exec('begin immediate')
    for (const { id } of connections) one.run(id)
    file.exec('commit')
    file.close()
  }

  async link(connections: MadeData['connections']): Promise<void> {
    const { dataDir, environment, accountId } = this.data
    const session = await openAdministration(settingsFor(dataDir, environment), { create: false })
    const secrets = await session.openSecrets()
    const waiting = connections.values()
    const linkInTurn = async () => {
      for (const { id, number } of waiting) {
        await this.#linkOne(session, secrets, { of: { accountId: accountId as never, id: id as ConnectionId }, number })
      }
    }
    await Promise.all(Array.from({ length: LINKED_AT_ONCE }, linkInTurn))
    await session.close()
  }

  /** Links one number like a page that shows each code as soon as it is there. */
  async #linkOne(
    { deviceSessions }: AdministrationSession,
    secrets: Secrets,
    { of, number }: { readonly of: OfConnection; readonly number: string },
  ): Promise<void> {
    const { id } = await deviceSessions.request(of, 'qr', 'bench')
    let scanned: string | null = null
    for (;;) {
      const { code, progress } = await deviceSessions.watch(of, id)
      if (progress.end === 'done') return
      if (progress.state === 'ended')
        throw new Error(`Linking ${number} ended: ${progress.end ?? ''} ${progress.detail ?? ''}`)
      if (code !== null && code !== scanned)
        await this.simulator.ask('scan', { number, code: secrets.open(code, placeOfCode(of, id)) })
      scanned = code ?? scanned
      await pause(ASKED_EVERY_MS)
    }
  }

  /** Resolves once the service answers, this many numbers are logged in, and waiting messages were sent. Returns both times. */
  async start(numbers: number, waiting = 0): Promise<{ readonly readyMs: number; readonly sentMs: number }> {
    const { taken: before } = await this.simulator.ask('progress', null)
    const startedMs = performance.now()
    let sentMs = 0
    this.process.spawn()
    for (;;) {
      const ms = performance.now() - startedMs
      const { taken } = await this.simulator.ask('progress', null)
      if (sentMs === 0 && taken - before >= waiting) sentMs = ms
      if (sentMs > 0 && (await this.readMetric('nuncio_sessions{status="ready"}')) >= numbers)
        return { readyMs: ms, sentMs }
      if (ms > READY_WITHIN_MS) throw new Error('Not all numbers have logged in, or not all that waited was sent')
      await pause(50)
    }
  }

  /** NaN while the service does not answer, and 0 for an unknown metric. */
  async readMetric(name: string): Promise<number> {
    const reply = await fetch(`${this.process.url}/metrics`).then(
      (response) => response.text(),
      () => null,
    )
    if (reply === null) return Number.NaN
    const line = reply.split('\n').find((found) => found.startsWith(`${name} `))
    return Number(line?.slice(name.length + 1) ?? 0)
  }

  /** Resolves once the simulator has accepted this many messages since its count was `before`. */
  async hasSent(before: number, messages: number): Promise<void> {
    const endMs = performance.now() + READY_WITHIN_MS
    while ((await this.simulator.ask('progress', null)).taken - before < messages) {
      if (performance.now() > endMs) throw new Error('Not all messages have reached the simulator')
      await pause(20)
    }
  }
}
