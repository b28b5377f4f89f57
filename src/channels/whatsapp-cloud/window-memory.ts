import type { ConnectionId, Instant } from '../../core/ids.ts'
import { spellingsOf } from '../../core/number-spellings.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { WindowNews } from './statuses/connection-news.ts'

export const WINDOW_KIND = 'window'
// The window may have opened again without our knowing. After a day a message is tried in free form again.
const REMEMBERED_MS = 24 * 3_600_000
// By how much Meta's clock and ours may differ. A refusal that lies farther ahead was noted before our clock was set back.
const CLOCKS_DIFFER_MS = 5 * 60_000

/**
 * Which recipients have not written for 24 hours, so that the network takes only templates for them (Meta's page “Send
 * messages”: customer service windows). Learnt from refusals, forgotten when the recipient writes. In storage, because
 * the next message may be another worker's.
 */
export class WindowMemory implements WindowNews {
  readonly #memory: ChannelState

  constructor(memory: ChannelState) {
    this.#memory = memory
  }

  /** True only while a refusal of the last 24 hours says so. */
  async isClosed(connectionId: ConnectionId, recipient: string, now: Instant): Promise<boolean> {
    const entry = await this.#memory.find(WINDOW_KIND, connectionId, keyOf(recipient))
    return entry !== null && entry.at <= now + CLOCKS_DIFFER_MS && now - entry.at < REMEMBERED_MS
  }

  /** Harmless twice; a later refusal counts from its own time. */
  async close(connectionId: ConnectionId, recipient: string, at: Instant): Promise<void> {
    const key = keyOf(recipient)
    const entry = { connectionId, key, value: '', at, remindAt: at + REMEMBERED_MS }
    if (await this.#memory.add(WINDOW_KIND, entry)) return
    const before = await this.#memory.find(WINDOW_KIND, connectionId, key)
    if (before && before.at >= at) return
    if (before) await this.#memory.remove(WINDOW_KIND, before.position)
    await this.#memory.add(WINDOW_KIND, entry)
  }

  /** A refusal was seen at this moment. What is remembered from before the clock was set back gives way to it. */
  async closeNow(connectionId: ConnectionId, recipient: string, now: Instant): Promise<void> {
    const before = await this.#memory.find(WINDOW_KIND, connectionId, keyOf(recipient))
    if (before && before.at > now + CLOCKS_DIFFER_MS) await this.#memory.remove(WINDOW_KIND, before.position)
    await this.close(connectionId, recipient, now)
  }

  /** The recipient wrote at this time. A refusal that is clearly later stays: it is an old message that is reported again. */
  async reopen(connectionId: ConnectionId, recipient: string, at: Instant): Promise<void> {
    await this.reopenAll(connectionId, [{ recipient, at }])
  }

  /** One query for all of them: a callback may report thousands, and other callbacks wait meanwhile. */
  async reopenAll(connectionId: ConnectionId, writers: readonly { recipient: string; at: Instant }[]): Promise<void> {
    const lastAt = new Map<string, Instant>()
    for (const { recipient, at } of writers) {
      const key = keyOf(recipient)
      lastAt.set(key, Math.max(at, lastAt.get(key) ?? at))
    }
    if (lastAt.size === 0) return
    const closed = await this.#memory.findSome(WINDOW_KIND, connectionId, [...lastAt.keys()])
    const over = closed.filter(({ key, at }) => at <= (lastAt.get(key) ?? 0) + CLOCKS_DIFFER_MS)
    await Promise.all(over.map(({ position }) => this.#memory.remove(WINDOW_KIND, position)))
  }
}

/** The digits of a number in the one form that both spellings of it share: who is written to under one may write from the other. */
export function keyOf(recipient: string): string {
  return spellingsOf(recipient.replace(/\D/g, ''))[0]
}
