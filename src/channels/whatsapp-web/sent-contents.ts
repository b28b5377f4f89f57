import type { Clock } from '../../core/ports/clock.ts'
import type { StoredSession } from './stored-session.ts'
import type { MessageFields } from './thread/messages.ts'

/** What a message is sent as. */
interface SentContent {
  /** The recipient's number as it was given. */
  readonly to: string
  readonly fields: MessageFields
  /** How often it was sent again to each device that could not read it. */
  readonly repeats: Readonly<Record<string, number>>
}

const WEEK_MS = 7 * 24 * 3_600_000
const KINDS = ['content-even', 'content-odd'] as const
const WEEK_KIND = 'content-week'

type Kind = (typeof KINDS)[number]

/**
 * What messages were sent as, by wire id, for one to two weeks. Each attempt must have the same content, because phones show a
 * repeated message only once. Also, a device that could not read a message asks for it again. Even and odd weeks have a kind of
 * key each, so that the contents of an old week can be removed at once.
 */
export class SentContents {
  readonly #stored: StoredSession
  readonly #clock: Clock
  /** The weeks whose kinds have been emptied of older contents, or are being emptied. */
  readonly #begun = new Map<number, Promise<void>>()
  #counted: Promise<unknown> = Promise.resolve()

  constructor(stored: StoredSession, clock: Clock) {
    this.#stored = stored
    this.#clock = clock
  }

  /** Rejects when it was not committed. */
  async keep(wireId: string, { to, fields }: Pick<SentContent, 'to' | 'fields'>): Promise<void> {
    const week = this.#week()
    await this.#beginWeek(week)
    await this.#write(kindOf(week), wireId, { to, fields, repeats: {} })
  }

  /** Removes what is too old, even if the number sends nothing any more. Never rejects. */
  async sweep(): Promise<void> {
    const week = this.#week()
    try {
      for (const each of [week, week - 1]) {
        const [entry] = await this.#stored.readKeys(WEEK_KIND, [kindOf(each)])
        if (entry && Number(entry[1]) < each) await this.#beginWeek(each)
      }
    } catch {
      // Storage logs by itself that it is away.
    }
  }

  /** Null when there is none. */
  async find(wireId: string): Promise<SentContent | null> {
    return (await this.#locate(wireId))?.content ?? null
  }

  /** The content for a device that could not read the message. Null after `most` repeats to it, or when there is none. */
  async findRepeat(wireId: string, device: string, most: number): Promise<SentContent | null> {
    const content = await this.find(wireId)
    return content && timesOf(content, device) < most ? content : null
  }

  /** Counts one more repeat to a device. False after `most` of them, or when there is no content. */
  countRepeat(wireId: string, device: string, most: number): Promise<boolean> {
    // One after the other: two at once would read the same count, and one repeat too many would be sent.
    const counted = this.#counted.then(() => this.#count(wireId, device, most))
    this.#counted = counted.catch(() => {})
    return counted
  }

  async #count(wireId: string, device: string, most: number): Promise<boolean> {
    const found = await this.#locate(wireId)
    if (!found || timesOf(found.content, device) >= most) return false
    const { kind, content } = found
    const repeats = { ...content.repeats, [device]: timesOf(content, device) + 1 }
    await this.#write(kind, wireId, { ...content, repeats })
    return true
  }

  async #locate(wireId: string): Promise<{ readonly kind: Kind; readonly content: SentContent } | null> {
    const week = this.#week()
    for (const kind of [kindOf(week), kindOf(week - 1)]) {
      const [entry] = await this.#stored.readKeys(kind, [wireId])
      if (entry) return { kind, content: JSON.parse(entry[1]) as SentContent }
    }
    return null
  }

  #write(kind: Kind, wireId: string, content: SentContent): Promise<void> {
    return this.#stored.writeAbout(content.to, [kind, wireId, JSON.stringify(content)])
  }

  /** Runs once for all callers: emptying it again would remove what one of them has stored meanwhile. */
  #beginWeek(week: number): Promise<void> {
    const known = this.#begun.get(week)
    if (known) return known
    const begun = this.#emptyOlder(week).catch((error: unknown) => {
      this.#begun.delete(week)
      throw error
    })
    this.#begun.set(week, begun)
    return begun
  }

  async #emptyOlder(week: number): Promise<void> {
    const kind = kindOf(week)
    const [entry] = await this.#stored.readKeys(WEEK_KIND, [kind])
    if (entry?.[1] !== String(week)) await this.#stored.empty(kind, [WEEK_KIND, kind, String(week)])
  }

  #week(): number {
    return Math.floor(this.#clock.now() / WEEK_MS)
  }
}

function timesOf({ repeats }: SentContent, device: string): number {
  return repeats[device] ?? 0
}

function kindOf(week: number): Kind {
  return KINDS[Math.abs(week % 2) as 0 | 1]
}
