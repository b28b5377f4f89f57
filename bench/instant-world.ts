import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pino } from 'pino'
import { createJournal } from '../src/app/journal.ts'
import { Metrics } from '../src/app/metrics.ts'
import { systemClock } from '../src/app/system-clock.ts'
import type { Settings } from '../src/config/read-settings.ts'
import { Dispatcher } from '../src/core/dispatch/dispatcher.ts'
import { MediaStage } from '../src/core/dispatch/media-stage.ts'
import type { MessageId, WorkerId } from '../src/core/ids.ts'
import { parseAddressRange } from '../src/core/media-address/ip-address.ts'
import type { Intake } from '../src/core/ports/intake.ts'
import type { Journal } from '../src/core/ports/journal.ts'
import { createHttpServer, type HttpServer } from '../src/http/http-server.ts'
import { createMediaFetcher } from '../src/media/create-media-fetcher.ts'
import { SqliteStorage } from '../src/storage/sqlite/index.ts'
import { INSTANT, InstantChannel } from './instant-channel.ts'
import { machineMs } from './machine-clock.ts'

export interface TracedMessage {
  readonly messageId: string
  readonly committedMs: number
  readonly calledMs: number
}

/**
 * The pieces of src/app/serve.ts with the instant channel in the place of the sandbox. Nothing of what a promise
 * rests on is left out: the same storage, dispatcher, HTTP side, journal and metrics.
 */
export class InstantWorld {
  readonly #storage: SqliteStorage
  readonly #channel: InstantChannel
  readonly #dispatcher: Dispatcher
  readonly #media: MediaStage
  readonly #http: HttpServer
  readonly #committed = new Map<string, number>()
  readonly #traced: TracedMessage[] = []
  #isTracing = false

  constructor(settings: Settings) {
    const logger = pino({ level: 'warn', base: null })
    this.#channel = new InstantChannel(({ messageId }) => this.#noteCall(messageId))
    this.#storage = new SqliteStorage({
      path: settings.database.path,
      clock: systemClock,
      limits: settings,
      refusedByChannel: () => null,
      onBroken: (error) => logger.fatal({ err: error }, 'the database failed'),
    })
    const metrics = new Metrics({
      waiting: () => this.#storage.counts.total(),
      lanes: () => this.#dispatcher.laneCount,
    })
    const journal = createJournal(logger, metrics)
    this.#media = this.#createMediaStage(settings, journal)
    this.#dispatcher = new Dispatcher({
      worker: `worker-${randomUUID()}` as WorkerId,
      lanes: this.#storage.lanes,
      channels: new Map([[INSTANT, this.#channel]]),
      clock: systemClock,
      journal,
      isMediaStalled: () => this.#media.isStalled(),
      wantMedia: (sequences) => this.#media.want(sequences),
      pollEveryMs: 10_000,
    })
    this.#http = createHttpServer({
      intake: this.#wakeOnAccept(this.#storage.intake),
      clock: systemClock,
      log: logger,
      observer: metrics,
      publicUrl: settings.publicUrl,
      allowedPrivate: toRanges(settings.mediaAllowedPrivate),
      trustedProxies: [],
      acceptRatePerAccount: settings.acceptRatePerAccount,
      metrics: Object.assign(metrics, { allowed: [], bearerSecret: null }),
      isAccepting: () => true,
      findTroubles: async () => [],
    })
  }

  /** Returns its port. */
  async start(): Promise<number> {
    const { port } = await this.#http.listen({ host: '127.0.0.1', port: 0 })
    await this.#storage.forgetDeadWorkers()
    this.#storage.watchLanes((ids) => this.#dispatcher.change(ids))
    await this.#media.start()
    await this.#dispatcher.start()
    return port
  }

  async stop(): Promise<void> {
    await Promise.all([this.#http.close(), this.#dispatcher.stop(1_000), this.#media.stop()])
    this.#storage.close()
  }

  get sent(): number {
    return this.#channel.sent
  }

  get waiting(): number {
    return this.#storage.counts.total()
  }

  get laneCount(): number {
    return this.#dispatcher.laneCount
  }

  trace(): void {
    this.#isTracing = true
  }

  takeTraced(): readonly TracedMessage[] {
    return this.#traced.splice(0)
  }

  #noteCall(messageId: MessageId): void {
    if (!this.#isTracing) return
    const calledMs = machineMs()
    this.#traced.push({ messageId, committedMs: this.#committed.get(messageId) ?? calledMs, calledMs })
    this.#committed.delete(messageId)
  }

  #createMediaStage(settings: Settings, journal: Journal): MediaStage {
    return new MediaStage({
      queue: this.#storage.mediaQueue,
      fetcher: createMediaFetcher({
        spoolDir: join(settings.dataDir, 'spool'),
        maxBytes: {
          image: settings.mediaMaxImageBytes,
          audio: settings.mediaMaxAudioBytes,
          video: settings.mediaMaxVideoBytes,
          document: settings.mediaMaxDocumentBytes,
        },
        allowedPrivate: toRanges(settings.mediaAllowedPrivate),
        dnsServers: null,
      }),
      clock: systemClock,
      journal,
      quotaBytes: settings.mediaSpoolBytesPerAccount,
      onSettled: (connectionId) => this.#dispatcher.change([connectionId]),
    })
  }

  #wakeOnAccept(intake: Intake): Intake {
    return {
      findToken: (sha256) => intake.findToken(sha256),
      namesMessage: (accountId, key) => intake.namesMessage(accountId, key),
      isBacklogFull: (accountId, from) => intake.isBacklogFull(accountId, from),
      logRefused: (request) => intake.logRefused(request),
      accept: async (candidate) => {
        const result = await intake.accept(candidate)
        if (result.kind === 'accepted') {
          if (this.#isTracing) this.#committed.set(result.messageId, machineMs())
          this.#dispatcher.wake(result.connectionId)
          if (candidate.content.type !== 'message') this.#media.wake()
        }
        return result
      },
    }
  }
}

function toRanges(texts: readonly string[]) {
  return texts.map(parseAddressRange).filter((range) => range !== null)
}
