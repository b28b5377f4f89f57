import { pino } from 'pino'
import type { Settings } from '../src/config/read-settings.ts'
import type { Intake } from '../src/core/ports/intake.ts'
import { Application } from '../src/server/application.ts'
import { openStorage } from '../src/server/wiring/open-storage.ts'
import { InstantChannel } from './instant-channel.ts'
import { machineMs } from './machine-clock.ts'

interface TracedMessage {
  readonly messageId: string
  readonly committedMs: number
  readonly calledMs: number
}

/** The real service with one more channel. */
export class InstantWorld {
  readonly #channel: InstantChannel
  readonly #nuncio: Application
  readonly #committed = new Map<string, number>()
  readonly #traced: TracedMessage[] = []
  #intake: Intake | null = null
  #isTracing = false

  constructor(settings: Settings) {
    const logger = pino({ level: settings.logLevel, base: null })
    this.#channel = new InstantChannel(({ messageId }) => this.#noteCall(messageId))
    this.#nuncio = new Application({
      settings,
      logger,
      channels: [this.#channel],
      openStorage: async (...given) => {
        const storage = await openStorage(...given)
        this.#intake = storage.intake
        return storage
      },
      onBroken: (error) => logger.fatal({ err: error }, 'the database failed'),
    })
  }

  /** Returns its port. */
  async start(): Promise<number> {
    const { url } = await this.#nuncio.start()
    return Number(new URL(url).port)
  }

  stop(): Promise<void> {
    return this.#nuncio.stop()
  }

  get sent(): number {
    return this.#channel.sent
  }

  /** From now on records when each message was committed and when it was handed over. */
  trace(): void {
    const intake = this.#intake
    if (this.#isTracing || !intake) return
    this.#isTracing = true
    // The service does not report this time, and should not have to for a bench.
    const accept = intake.accept.bind(intake)
    intake.accept = async (candidate) => {
      const result = await accept(candidate)
      if (result.kind === 'accepted') this.#committed.set(result.messageId, machineMs())
      return result
    }
  }

  takeTraced(): readonly TracedMessage[] {
    return this.#traced.splice(0)
  }

  #noteCall(messageId: string): void {
    if (!this.#isTracing) return
    const calledMs = machineMs()
    this.#traced.push({ messageId, committedMs: this.#committed.get(messageId) ?? calledMs, calledMs })
    this.#committed.delete(messageId)
  }
}
