import cluster from 'node:cluster'
import type { Logger } from 'pino'
import type { Settings } from '../../config/read-settings.ts'
import { createLogger } from '../../observability/create-logger.ts'
import type { MetricsReport } from '../../observability/metrics.ts'
import { giveBackMemory } from '../runtime-tuning.ts'
import { describeFailure, type FromChild, type ServeOrder, type ToChild } from './child-messages.ts'

interface ChildService {
  start(): Promise<{ readonly url: string }>
  /** Resolves once everything has ended. Harmless twice, and while it starts. */
  stop(): Promise<void>
  reportMetrics(): Promise<MetricsReport>
}

export interface ChildParts {
  readonly settings: Settings
  readonly logger: Logger
  /** What the other processes on this port have counted. */
  readonly readOtherMetrics: () => Promise<readonly MetricsReport[]>
}

/**
 * Runs as one of several processes. Serves when the parent says so, and ends in order when the parent says so or is gone.
 * Ends the process.
 */
export function serveAsChild(createService: (parts: ChildParts) => ChildService): void {
  let child: ServingChild | null = null
  process.on('message', (message: ToChild) => {
    if (message.say === 'serve') child ??= new ServingChild(message, createService)
    else child?.hear(message)
  })
  cluster.worker?.once('disconnect', () => {
    // Without this Node would end the process here and now, whatever is open.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    if (child) child.loseParent()
    else process.exit(1)
  })
}

class ServingChild {
  readonly #service: ChildService
  readonly #logger: Logger
  readonly #questions = new Map<number, (reports: readonly MetricsReport[]) => void>()
  #asked = 0
  #exitCode = 0

  constructor({ number, settings }: ServeOrder, createService: (parts: ChildParts) => ChildService) {
    this.#logger = createLogger(settings, { process: number })
    this.#service = createService({
      settings,
      logger: this.#logger,
      readOtherMetrics: () => this.#readOtherMetrics(),
    })
    process.on('SIGTERM', () => this.#stop(0))
    // A terminal sends these to the parent too, which then says what is to be done. Counted twice they would force us.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
    process.on('unhandledRejection', (error) => {
      this.#logger.fatal({ err: error }, 'unhandled fault; stopping')
      this.#stop(1)
    })
    this.#service.start().then(
      ({ url }) => {
        void notifyParent({ say: 'serving', url })
        giveBackMemory()
      },
      (error: unknown) => void this.#fail(error),
    )
  }

  hear(message: Exclude<ToChild, ServeOrder>): void {
    switch (message.say) {
      case 'stop':
        this.#stop(0)
        break
      case 'report-metrics':
        void this.#reportMetrics(message.question)
        break
      case 'metrics-of-others':
        this.#questions.get(message.question)?.(message.reports)
        this.#questions.delete(message.question)
        break
    }
  }

  loseParent(): void {
    this.#logger.fatal('the parent process is gone; stopping')
    for (const resolve of this.#questions.values()) resolve([])
    this.#stop(1)
  }

  #stop(exitCode: number): void {
    this.#exitCode ||= exitCode
    this.#service.stop().then(
      () => process.exit(this.#exitCode),
      (error: unknown) => {
        this.#logger.fatal({ err: error }, 'could not stop in order')
        process.exit(1)
      },
    )
  }

  async #fail(error: unknown): Promise<void> {
    await notifyParent(describeFailure(error))
    this.#stop(1)
  }

  async #reportMetrics(question: number): Promise<void> {
    await notifyParent({ say: 'report-metrics', question, report: await this.#service.reportMetrics() })
  }

  async #readOtherMetrics(): Promise<readonly MetricsReport[]> {
    if (!process.connected) return []
    const question = ++this.#asked
    const answer = new Promise<readonly MetricsReport[]>((resolve) => this.#questions.set(question, resolve))
    await notifyParent({ say: 'ask-metrics', question })
    return answer
  }
}

/** Resolves when it is on its way, or the parent is gone. */
function notifyParent(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected && process.send) process.send(message, () => resolve())
    else resolve()
  })
}
