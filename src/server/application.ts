import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import packageFile from '../../package.json' with { type: 'json' }
import { assetPath } from '../assets/asset-path.ts'
import { localUrl, type Settings } from '../config/read-settings.ts'
import type { Role } from '../config/setting-kinds.ts'
import type { ConnectionId, WorkerId } from '../core/ids.ts'
import type { QueuedMessage } from '../core/message/message.ts'
import type { Channel } from '../core/ports/channel.ts'
import type { Journal } from '../core/ports/journal.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'
import type { RetentionJob } from '../core/retention/retention-job.ts'
import type { Watchdog } from '../core/watchdog/watchdog.ts'
import type { ConsoleSettings } from '../http/console-api/console-parts.ts'
import { createHttpServer, type HttpServer } from '../http/server/http-server.ts'
import type { HttpServerDeps } from '../http/server/http-server-deps.ts'
import { createJournal } from '../observability/journal.ts'
import { Metrics, type MetricsReport, setWatchGauges } from '../observability/metrics.ts'
import type { FirstStart } from './first-run/first-start.ts'
import type { SetupLink } from './first-run/setup-link.ts'
import { keepGarbageYoung, keepTicksFast } from './runtime-tuning.ts'
import { systemClock } from './system-clock.ts'
import { TlsWatch } from './tls/tls-watch.ts'
import { createChannels } from './wiring/create-channels.ts'
import { Dispatch } from './wiring/dispatch.ts'
import type { ConsoleStorage } from './wiring/open-console-store.ts'
import { openSecrets } from './wiring/open-secrets.ts'
import { openStorage } from './wiring/open-storage.ts'
import { parseCidrs, rangesOfMedia } from './wiring/operator-ranges.ts'
import { createRecipientHash } from './wiring/recipient-hash.ts'
import { createRetentionJob } from './wiring/retention-job.ts'
import type { Storage } from './wiring/storage.ts'
import type { Traces } from './wiring/tracing.ts'
import { wakeOnAccept } from './wiring/wake-on-accept.ts'
import { createWatchdog } from './wiring/watchdog.ts'
import { createWebhooks, type Webhooks } from './wiring/webhooks.ts'

interface ApplicationParts {
  readonly settings: Settings
  readonly logger: Logger
  /** The data can no longer be trusted: this process should end and a fresh one be started. */
  readonly onBroken: (error: unknown) => void
  /** Channels besides the built-in ones. */
  readonly channels?: readonly Channel[]
  /** What the other processes on this port have counted. */
  readonly readOtherMetrics?: () => Promise<readonly MetricsReport[]>
  /** Replaced by tests. */
  readonly openStorage?: typeof openStorage
  /** False where the parent process makes the first account, because only the parent can print the token. */
  readonly makesFirst?: boolean
  /** For tests: each reply of the console must have the shape that its contract promises. */
  readonly checksConsoleReplies?: boolean
}

export interface Started {
  /** Where it is reached from this machine. */
  readonly url: string
  /** Null unless the database was empty. */
  readonly first: FirstStart | null
}

/** One running Nuncio: its pieces, made, started and stopped in order. */
export class Application {
  readonly #parts: ApplicationParts
  readonly #settings: Settings
  readonly #worker = `worker-${randomUUID()}` as WorkerId
  readonly #metrics: Metrics
  #journal: Journal
  /** Null where traces are off. */
  #traces: Traces | null = null
  #storage: Storage | null = null
  #dispatching: Dispatch | null = null
  #watchdog: Watchdog | null = null
  #console: ConsoleStorage | null = null
  #notifying: Webhooks | null = null
  #retention: RetentionJob | null = null
  #http: HttpServer | null = null
  #secrets: Secrets | null = null
  #tls: TlsWatch | null = null
  #hadAccount = false
  #isStopping = false
  #started: Promise<Started> | null = null
  #stopped: Promise<void> | null = null

  constructor(parts: ApplicationParts) {
    this.#parts = parts
    this.#settings = parts.settings
    const now = {
      waiting: () => this.#storage?.waiting() ?? 0,
      lanes: () => this.#dispatching?.laneCount ?? 0,
      deferred: () => this.#dispatching?.deferredCount ?? 0,
      laneStatuses: () => this.#dispatching?.statuses() ?? [],
      storage: () => this.#storage?.figures() ?? null,
      fetches: () => this.#dispatching?.fetchCount ?? 0,
      consoleQueries: () => this.#console?.openQueries() ?? 0,
      hasError: () => this.#storage?.health.error != null,
    }
    this.#metrics = new Metrics(now, parts.readOtherMetrics)
    this.#journal = createJournal(parts.logger, this.#metrics)
  }

  /** To be called once. When it rejects, `stop` must still be called. */
  start(): Promise<Started> {
    this.#started ??= this.#start()
    return this.#started
  }

  /** Accepts nothing new, lets running calls finish, records them, and releases the lanes. Harmless twice. */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** The setup link, as long as there is no person. Null when there is one, or no console. */
  async printSetupLink(): Promise<SetupLink | null> {
    const [started, console, storage] = [await this.#started, this.#console, this.#storage]
    if (!started || !console || !storage || this.#isStopping) return null
    const { printSetupLink, warnOfSetupLink } = await import('./first-run/setup-link.ts')
    const people = {
      // At most starts there are people, and then the console's store need not begin to work.
      hasPeople: () => storage.hasPeople(),
      createPersonLink: (...given: Parameters<typeof console.store.people.createPersonLink>) =>
        console.store.people.createPersonLink(...given),
    }
    const link = await printSetupLink(people, {
      dataDir: this.#settings.dataDir,
      url: started.url,
      isQuiet: this.#settings.quietFirstStart,
      onError: (error) => {
        // The store is being closed, and the next start makes another link.
        if (!this.#isStopping) warnOfSetupLink(this.#parts.logger, error)
      },
    })
    console.rest()
    return link
  }

  reportMetrics(): Promise<MetricsReport> {
    return this.#metrics.report()
  }

  async #start(): Promise<Started> {
    keepGarbageYoung()
    await keepTicksFast()
    const { logger } = this.#parts
    // First, because nothing need be opened for a certificate that cannot be used.
    const tls = new TlsWatch({ settings: this.#settings, logger, clock: systemClock })
    this.#tls = tls
    await this.#openTraces()
    const channels = new Map<string, Channel>()
    const storage = await this.#openStorage(channels)
    this.#storage = storage
    // Before anything is served: with a wrong key ring it would seal what could never be opened again.
    const secrets = await openSecrets(this.#settings, { facts: await storage.readKeyFacts() })
    this.#secrets = secrets
    const others = this.#parts.channels ?? []
    const dropClaim = (id: ConnectionId) => this.#dispatching?.dropClaim(id)
    const settings = this.#settings
    const made = createChannels({ settings, storage, secrets, journal: this.#journal, others, dropClaim })
    for (const [name, channel] of made.byName) channels.set(name, channel)
    if (this.#does('dispatch')) this.#dispatching = this.#createDispatching(storage, channels)
    const console = this.#does('console') ? await this.#openConsole(storage, secrets) : null
    if (this.#does('dispatch')) this.#notifying = await this.#createWebhooks(storage, secrets)
    const callbacks = this.#does('api') ? made.receivers : []
    this.#http = this.#createHttp(storage, { console, callbacks, tls: tls.identity })

    await storage.start({
      lanesChanged: (ids) => this.#dispatching?.changed(ids),
      lanesWoken: (ids) => this.#dispatching?.woken(ids),
    })
    const { host, port } = settings
    const address = await this.#http.listen({ host, port })
    tls.start((identity) => this.#http?.renewTls(identity))
    await this.#dispatching?.start()
    this.#console?.start()
    this.#watchdog = this.#createWatchdog(storage, channels)
    this.#watchdog.start()
    this.#notifying?.start()
    this.#retention = this.#createRetentionJob(storage)
    this.#retention.start()
    // Last: its token is printed once. A start that failed after it, say for a taken port, would have swallowed it. Until
    // then every call meets no account, and is refused.
    const first = await this.#prepareFirst(storage)
    return { url: address.port === port ? this.#settings.publicUrl : localUrl(settings, address.port), first }
  }

  async #stop(): Promise<void> {
    // A storage that is still being opened cannot be closed.
    await this.#started?.catch(() => {})
    this.#tls?.close()
    await Promise.all([
      this.#http?.close(),
      this.#dispatching?.stop(),
      this.#notifying?.stop(),
      this.#watchdog?.stop(),
      this.#retention?.stop(),
    ])
    await this.#console?.close()
    await this.#storage?.close()
    await this.#traces?.stop()
  }

  /** Loaded only where traces are exported. Before anything that keeps the journal. */
  async #openTraces(): Promise<void> {
    const { tracesUrl: url, tracesHeaders: headers, tracesSampledPercent: sampledPercent } = this.#settings
    if (url === null) return
    const { Traces } = await import('./wiring/tracing.ts')
    const now = () => this.#storage?.clock.now() ?? Date.now()
    this.#traces = new Traces({ url, headers, sampledPercent, now, worker: this.#worker, metrics: this.#metrics })
    this.#journal = this.#traces.journal(this.#journal)
  }

  #does(role: Role): boolean {
    return this.#settings.roles.includes(role)
  }

  /** The channels are made after it, because they remember in it; nothing is accepted before there are any. */
  #openStorage(channels: ReadonlyMap<string, Channel>): Promise<Storage> {
    const { settings, onBroken } = this.#parts
    return (this.#parts.openStorage ?? openStorage)(settings, {
      worker: {
        id: this.#worker,
        host: hostname(),
        pid: process.pid,
        roles: settings.roles,
        version: packageFile.version,
      },
      limits: settings,
      sendable: () =>
        [...channels].flatMap(([name, { capabilities }]) => capabilities.types.map((type) => `${name}/${type}`)),
      hashRecipient: createRecipientHash(() => {
        if (!this.#secrets) throw new Error('A recipient was looked up before the key ring was open')
        return this.#secrets
      }),
      onBroken,
      onError: (error) => this.#journal.record({ event: 'storage.unavailable', error }),
      onCommit: (committed) => this.#metrics.committed(committed),
    })
  }

  #createDispatching(storage: Storage, channels: ReadonlyMap<string, Channel>): Dispatch {
    const lanes = this.#traces?.lanes(storage.lanes) ?? storage.lanes
    const parts = { settings: this.#settings, worker: this.#worker, journal: this.#journal, lanes }
    return new Dispatch({ ...parts, storage, channels })
  }

  #createWatchdog(storage: Storage, channels: ReadonlyMap<string, Channel>): Watchdog {
    const parts = { settings: this.#settings, worker: this.#worker, journal: this.#journal, storage, channels }
    return createWatchdog({
      ...parts,
      countRefused: () => this.#metrics.refusedForStorage,
      onChecked: (state) => setWatchGauges(this.#metrics, state),
    })
  }

  /** Loaded only where it is served. */
  async #openConsole(storage: Storage, secrets: Secrets): Promise<ConsoleSettings> {
    const { openConsole } = await import('./wiring/open-console.ts')
    const { storage: opened, settings } = await openConsole({
      settings: this.#settings,
      clock: storage.clock,
      findError: () => storage.health.error,
      secrets,
      channelState: (channel) => storage.channelState(channel),
      onError: (error) => this.#recordError(error),
    })
    this.#console = opened
    return { ...settings, checksReplies: this.#parts.checksConsoleReplies ?? false }
  }

  #createWebhooks(storage: Storage, secrets: Secrets): Promise<Webhooks> {
    const parts = { settings: this.#settings, storage, secrets, console: this.#console, journal: this.#journal }
    return createWebhooks({ ...parts, onError: (error) => this.#recordError(error) })
  }

  #recordError(error: unknown): void {
    this.#journal.record(
      error instanceof Refusal
        ? { event: 'storage.unavailable', error }
        : { event: 'fault', where: 'the console', error },
    )
  }

  #createRetentionJob(storage: Storage): RetentionJob {
    const { store = null } = this.#console ?? {}
    return createRetentionJob({
      settings: this.#settings,
      worker: this.#worker,
      journal: this.#journal,
      storage,
      console: store,
    })
  }

  #createHttp(storage: Storage, served: Pick<HttpServerDeps, 'console' | 'callbacks' | 'tls'>): HttpServer {
    const settings = this.#settings
    return createHttpServer({
      intake: this.#does('api')
        ? wakeOnAccept(storage.intake, storage.clock, (message) => this.#accepted(message))
        : null,
      ...served,
      docsFolder: assetPath('site/dist'),
      clock: storage.clock,
      log: this.#parts.logger,
      observer: this.#traces?.observer() ?? this.#metrics,
      publicUrl: settings.publicUrl,
      mediaRanges: rangesOfMedia(settings),
      trustedProxies: parseCidrs(settings.trustedProxies),
      acceptRatePerAccount: settings.acceptRatePerAccount,
      acceptingProcesses: () => storage.acceptingProcesses(),
      refusedLogBytesPerHour: settings.refusedLogBytesPerHour,
      metrics: Object.assign(this.#metrics, {
        allowed: parseCidrs(settings.metricsAllowed),
        bearerSecret: settings.metricsSecret,
      }),
      isAccepting: () => !this.#isStopping,
      readinessProblems: () => this.#readinessProblems(storage),
    })
  }

  /** An accepted message is dispatched at once, here or by the worker that holds its lane, instead of at the next poll. */
  #accepted(message: QueuedMessage): void {
    if (!this.#dispatching?.accepted(message)) this.#storage?.notifyPeers([message.connectionId])
  }

  async #readinessProblems(storage: Storage): Promise<readonly string[]> {
    const problems: string[] = []
    if (this.#does('api') && !(await this.#hasAccount(storage))) problems.push('first start')
    if (this.#dispatching && (!this.#dispatching.isRunning || this.#isStopping)) problems.push('dispatching')
    if (!(await storage.isWritable())) problems.push('storage')
    return problems
  }

  /** Without an account every call is refused. The first start makes one, here or in another process. */
  async #hasAccount(storage: Storage): Promise<boolean> {
    this.#hadAccount ||= !(await storage.isEmpty().catch(() => true))
    return this.#hadAccount
  }

  /** Loaded only when it is needed: what it brings along would stay in memory for good. */
  async #prepareFirst(storage: Storage): Promise<FirstStart | null> {
    const isWanted = this.#does('api') && this.#parts.makesFirst !== false && !this.#isStopping
    if (!isWanted || !(await storage.isEmpty())) return null
    const { prepareFirstStart } = await import('./first-run/first-start.ts')
    return prepareFirstStart(this.#settings, storage.clock.now())
  }
}
