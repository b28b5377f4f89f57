import { Refusal, type RefusalCode } from '../../core/refusals.ts'
import type { AccountRequest } from './request-context.ts'

interface Most {
  readonly ofPerson: number
  readonly ofAccount: number
  /** In this process. */
  readonly ofAll: number
  readonly refusal: RefusalCode
}

type Owner = Pick<AccountRequest, 'personId' | 'accountId'>

/** How many replies that last may be open at once, so that no person and no account takes what others need. */
const MOST = {
  // A browser holds about six connections to one host, and some people use several browsers.
  stream: { ofPerson: 12, ofAccount: 200, ofAll: 1_000, refusal: 'streams_exceeded' },
  // Each of them reads the whole log.
  export: { ofPerson: 2, ofAccount: 4, ofAll: 64, refusal: 'exports_exceeded' },
  // A conversation shows many pictures, and by HTTP/2 a browser asks for all of them at once.
  preview: { ofPerson: 100, ofAccount: 200, ofAll: 1_000, refusal: 'previews_exceeded' },
} as const satisfies Record<string, Most>

/** Counts the open replies of one kind. */
export class OpenReplies {
  readonly #most: Most
  readonly #open = new Map<string, number>()

  constructor(kind: keyof typeof MOST) {
    this.#most = MOST[kind]
  }

  /** Refuses when as many are open as may be. */
  check({ personId, accountId }: Owner): void {
    const { ofPerson, ofAccount, ofAll, refusal } = this.#most
    const isFull =
      this.#count(personId) >= ofPerson || this.#count(accountId) >= ofAccount || this.#count('all') >= ofAll
    if (isFull) throw new Refusal(refusal)
  }

  /** Refuses as `check` does. Returns how to give the place back, which is harmless twice. */
  open({ personId, accountId }: Owner): () => void {
    this.check({ personId, accountId })
    const counted = [personId, accountId, 'all']
    for (const key of counted) this.#open.set(key, this.#count(key) + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      for (const key of counted) {
        if (this.#count(key) > 1) this.#open.set(key, this.#count(key) - 1)
        else this.#open.delete(key)
      }
    }
  }

  #count(key: string): number {
    return this.#open.get(key) ?? 0
  }
}
