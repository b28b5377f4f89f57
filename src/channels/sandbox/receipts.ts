import type { MessageId } from '../../core/ids.ts'
import type { ChannelEvents, Handover, Receipt } from '../../core/ports/channel.ts'
import type { ChannelMemory } from '../../core/ports/channel-memory.ts'
import type { Clock } from '../../core/ports/clock.ts'

const KIND = 'receipt'
const PAGE = 500

interface DueReceipt {
  readonly messageId: MessageId
  readonly kind: Receipt['kind']
  readonly dueAt: number
  readonly code: string | null
  readonly words: string | null
}

/** Reports that the sandbox's network makes later. Remembered until they are applied, so that a restart loses none. */
export class SandboxReceipts {
  readonly #memory: ChannelMemory
  readonly #clock: Clock
  #events: ChannelEvents | null = null
  readonly #timers = new Set<() => void>()

  constructor(memory: ChannelMemory, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  async start(events: ChannelEvents): Promise<void> {
    this.#events = events
    for (let after = 0; ; ) {
      const entries = await this.#memory.list(KIND, { connectionId: null, after, limit: PAGE })
      for (const entry of entries) this.#schedule(entry.position, JSON.parse(entry.value) as DueReceipt)
      after = entries.at(-1)?.position ?? after
      if (entries.length < PAGE) return
    }
  }

  stop(): void {
    this.#events = null
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }

  /** Durable when it resolves. */
  async plan(
    { connectionId, messageId, attemptNumber }: Handover,
    receipt: Omit<DueReceipt, 'messageId'>,
  ): Promise<void> {
    const due: DueReceipt = { messageId, ...receipt }
    const key = `${messageId}#${attemptNumber}#${receipt.kind}`
    await this.#memory.add(KIND, { connectionId, key, value: JSON.stringify(due), at: this.#clock.now() })
    const entry = await this.#memory.find(KIND, connectionId, key)
    if (entry) this.#schedule(entry.position, due)
  }

  #schedule(position: number, due: DueReceipt): void {
    const cancel = this.#clock.after(Math.max(0, due.dueAt - this.#clock.now()), () => {
      this.#timers.delete(cancel)
      void this.#report(position, due)
    })
    this.#timers.add(cancel)
  }

  async #report(position: number, { messageId, kind, dueAt, code, words }: DueReceipt): Promise<void> {
    try {
      await this.#events?.receipt({ messageId, kind, at: dueAt, code, words })
      if (this.#events) await this.#memory.remove(KIND, position)
    } catch {
      // Storage is away. The receipt is still remembered: the next start reports it.
    }
  }
}
