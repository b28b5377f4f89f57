import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { createSandbox, SANDBOX } from '../channels/sandbox/index.ts'
import { localUrl, type Settings } from '../config/read-settings.ts'
import { Dispatcher } from '../core/dispatch/dispatcher.ts'
import { MediaStage } from '../core/dispatch/media-stage.ts'
import type { WorkerId } from '../core/ids.ts'
import { parseAddressRange } from '../core/media-address/ip-address.ts'
import type { Channel } from '../core/ports/channel.ts'
import type { Intake } from '../core/ports/intake.ts'
import type { Journal } from '../core/ports/journal.ts'
import { createHttpServer, type HttpServer } from '../http/http-server.ts'
import { createMediaFetcher } from '../media/create-media-fetcher.ts'
import { SqliteStorage } from '../storage/sqlite/index.ts'
import { deliverReceipt } from './deliver-receipt.ts'
import type { FirstStart } from './first-start.ts'
import { createJournal } from './journal.ts'
import { Metrics } from './metrics.ts'
import { systemClock } from './system-clock.ts'

// The look is the truth, being told only saves time: on SQLite everybody who changes a lane tells.
const POLL_LANES_EVERY_MS = 10_000
const CALLS_MAY_FINISH_MS = 25_000
// Long enough that most messages are on their way by then, short enough that few need to be known by heart.
const ENTER_LANES_EVERY_MS = 250
const SWEEP_EVERY_MS = 60_000

export interface NuncioParts {
  readonly settings: Settings
  readonly logger: Logger
  /** The disk can no longer be trusted: this process should end and a fresh one be started. */
  readonly onBroken: (error: unknown) => void
  /** Channels besides the built-in ones. */
  readonly channels?: readonly Channel[]
}

export interface Started {
  /** Where it is reached from this machine. */
  readonly url: string
  /** Null unless the data directory was empty. */
  readonly first: FirstStart | null
}

/** One running Nuncio: its pieces, started and stopped in order. */
export class Nuncio {
  readonly #settings: Settings
  readonly #storage: SqliteStorage
  readonly #channels: ReadonlyMap<string, Channel>
  readonly #dispatcher: Dispatcher
  readonly #media: MediaStage
  readonly #http: HttpServer
  readonly #journal: Journal
  #isAccepting = true
  #isDispatching = false
  #sweeping: NodeJS.Timeout | null = null
  #entering: NodeJS.Timeout | null = null
  #stopped: Promise<void> | null = null

  constructor({ settings, logger, onBroken, channels }: NuncioParts) {
    this.#settings = settings
    this.#storage = new SqliteStorage({
      path: settings.database.path,
      clock: systemClock,
      limits: settings,
      refusedByChannel: (name, type) =>
        this.#channels.get(name)?.capabilities.types.includes(type) ? null : 'type_unsupported_by_channel',
      onBroken,
    })
    const storage = this.#storage
    const metrics = this.#createMetrics()
    this.#journal = createJournal(logger, metrics)
    this.#channels = new Map([this.#createSandbox(), ...(channels ?? [])].map((channel) => [channel.name, channel]))
    this.#media = this.#createMediaStage()
    this.#dispatcher = new Dispatcher({
      worker: `worker-${randomUUID()}` as WorkerId,
      lanes: storage.lanes,
      channels: this.#channels,
      clock: systemClock,
      journal: this.#journal,
      isMediaStalled: () => this.#media.isStalled(),
      wantMedia: (sequences) => this.#media.want(sequences),
      pollEveryMs: POLL_LANES_EVERY_MS,
    })
    this.#http = createHttpServer({
      intake: this.#wakeOnAccept(storage.intake),
      clock: systemClock,
      log: logger,
      observer: metrics,
      publicUrl: settings.publicUrl,
      allowedPrivate: toRanges(settings.mediaAllowedPrivate),
      trustedProxies: toRanges(settings.trustedProxies),
      acceptRatePerAccount: settings.acceptRatePerAccount,
      metrics: Object.assign(metrics, {
        allowed: toRanges(settings.metricsAllowed),
        bearerSecret: settings.metricsSecret,
      }),
      isAccepting: () => this.#isAccepting,
      findTroubles: () => this.#findTroubles(),
    })
  }

  async start(): Promise<Started> {
    const first = this.#storage.isEmpty() ? await this.#prepareFirst() : null
    const { host, port } = this.#settings
    const address = await this.#http.listen({ host, port })
    await this.#storage.forgetDeadWorkers()
    this.#storage.watchLanes((ids) => this.#dispatcher.change(ids))
    const events = { receipt: deliverReceipt(this.#storage.lanes, systemClock) }
    for (const channel of this.#channels.values()) await channel.start(events)
    await this.#media.start()
    await this.#dispatcher.start()
    this.#isDispatching = true
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_EVERY_MS)
    this.#entering = setInterval(() => this.#enterLanes(), ENTER_LANES_EVERY_MS)
    return { url: address.port === port ? this.#settings.publicUrl : localUrl(host, address.port), first }
  }

  /** Loaded only when it is needed: what it brings along would stay in memory for good. */
  async #prepareFirst(): Promise<FirstStart | null> {
    const { prepareFirstStart } = await import('./first-start.ts')
    return prepareFirstStart(this.#settings, systemClock.now())
  }

  /** Takes nothing new, lets running calls finish, records them, gives the lanes back. Harmless twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#isAccepting = false
    this.#isDispatching = false
    if (this.#sweeping) clearInterval(this.#sweeping)
    if (this.#entering) clearInterval(this.#entering)
    await Promise.all([this.#http.close(), this.#dispatcher.stop(CALLS_MAY_FINISH_MS), this.#media.stop()])
    for (const channel of this.#channels.values()) await channel.stop()
    this.#storage.close()
  }

  #createMetrics(): Metrics {
    return new Metrics({ waiting: () => this.#storage.counts.total(), lanes: () => this.#dispatcher.laneCount })
  }

  #createSandbox(): Channel {
    return createSandbox({
      memory: this.#storage.channelMemory(SANDBOX),
      clock: systemClock,
      mediaFolder: join(this.#settings.dataDir, 'sandbox-media'),
      mediaBytes: this.#settings.sandboxMediaBytes,
      // SIGKILL, because a crash that gets to tidy up is none.
      crash: (connectionId) =>
        this.#settings.sandboxMayCrash
          ? process.kill(process.pid, 'SIGKILL')
          : this.#dispatcher.dropClaim(connectionId),
    })
  }

  #createMediaStage(): MediaStage {
    const { settings, storage } = { settings: this.#settings, storage: this.#storage }
    return new MediaStage({
      queue: storage.mediaQueue,
      fetcher: createMediaFetcher({
        spoolDir: join(settings.dataDir, 'spool'),
        maxBytes: {
          image: settings.mediaMaxImageBytes,
          audio: settings.mediaMaxAudioBytes,
          video: settings.mediaMaxVideoBytes,
          document: settings.mediaMaxDocumentBytes,
        },
        allowedPrivate: toRanges(settings.mediaAllowedPrivate),
        dnsServers: settings.dnsServers.length > 0 ? settings.dnsServers : null,
      }),
      clock: systemClock,
      journal: this.#journal,
      quotaBytes: settings.mediaSpoolBytesPerAccount,
      onSettled: (connectionId) => this.#dispatcher.change([connectionId]),
    })
  }

  /** What was accepted is dispatched at once, and its media fetched, instead of at the next look. */
  #wakeOnAccept(intake: Intake): Intake {
    return {
      findToken: (sha256) => intake.findToken(sha256),
      namesMessage: (accountId, key) => intake.namesMessage(accountId, key),
      isBacklogFull: (accountId, from) => intake.isBacklogFull(accountId, from),
      logRefused: (request) => intake.logRefused(request),
      accept: async (candidate) => {
        const result = await intake.accept(candidate)
        if (result.kind === 'accepted') {
          this.#dispatcher.wake(result.connectionId)
          if (candidate.content.type !== 'message') this.#media.wake()
        }
        return result
      },
    }
  }

  async #findTroubles(): Promise<readonly string[]> {
    const troubles: string[] = []
    if (!this.#isDispatching) troubles.push('dispatching')
    if (!(await this.#storage.isWritable())) troubles.push('storage')
    return troubles
  }

  #enterLanes(): void {
    this.#storage.enterLanes().catch((error: unknown) => this.#journal.record({ event: 'storage.unavailable', error }))
  }

  #sweep(): void {
    this.#storage
      .sweep(systemClock.now())
      .catch((error: unknown) => this.#journal.record({ event: 'storage.unavailable', error }))
  }
}

function toRanges(texts: readonly string[]) {
  return texts.map(parseAddressRange).filter((range) => range !== null)
}
