import { setTimeout as pause } from 'node:timers/promises'
import type { Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelEvents } from '../../../core/ports/channel.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'

// The same times as those of GroupCommit.
const BUSY_RETRY_MS = 3
const BUSY_GIVE_UP_MS = 5_000
// One message takes some 2 ms of the thread that accepts. When a network reports ten thousand failures at once, the next one
// waits three times as long as the last one took, so that it leaves three quarters of the thread.
const TIMES_FOR_OTHERS = 3

/**
 * Sends failed messages again over a database connection of its own, like the command line. This is rare, and its many
 * statements would delay the shared commits, whose jobs must be short.
 *
 * One message at a time, with room for other writers in between. It runs in the serving thread, so it retries instead of
 * waiting for another writer.
 */
export class SendAgainVisits {
  readonly #path: string
  readonly #now: () => Instant
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false
  #tookMs = 0

  constructor({ path, now }: { readonly path: string; readonly now: () => Instant }) {
    this.#path = path
    this.#now = now
  }

  sendAgain(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    const done = this.#last.then(() => this.#visitPatiently(failed))
    this.#last = done.then(
      () => this.#leaveRoom(),
      () => this.#leaveRoom(),
    )
    return done
  }

  /** Resolves when none is on its way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#last
  }

  async #visitPatiently(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    const until = performance.now() + BUSY_GIVE_UP_MS
    for (;;) {
      if (this.#isClosed) throw new StorageUnavailable('the database was closed', false)
      const began = performance.now()
      try {
        const copy = await this.#visit(failed)
        this.#tookMs = performance.now() - began
        return copy
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.code !== 'database_busy' || performance.now() >= until)
          throw new StorageUnavailable('the database cannot be written', false, { cause: error })
      }
      await pause(BUSY_RETRY_MS)
    }
  }

  async #leaveRoom(): Promise<void> {
    if (!this.#isClosed) await pause(this.#tookMs * TIMES_FOR_OTHERS)
  }

  async #visit(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    // Loaded when it is needed, because it loads the query builder.
    const { openAdministration } = await import('../queries/open-administration.ts')
    const { sendFailedAgain } = await import('../../queries/messages/change-message.ts')
    const visitor = openAdministration(this.#path, { create: false, now: this.#now, busyTimeoutMs: 0 })
    try {
      return await sendFailedAgain(visitor.store, failed)
    } finally {
      visitor.close()
    }
  }
}
