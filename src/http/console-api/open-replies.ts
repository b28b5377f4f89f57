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

/** How many long replies may be open at once, so that no person and no account can use up all of them. */
const MOST = {
  // A browser holds about six connections to one host, and some people use several browsers.
  stream: { ofPerson: 12, ofAccount: 200, ofAll: 1_000, refusal: 'streams_exceeded' },
  // Each export reads the whole log.
  export: { ofPerson: 2, ofAccount: 4, ofAll: 64, refusal: 'exports_exceeded' },
  // A conversation shows many pictures, and over HTTP/2 a browser requests all of them at once.
  preview: { ofPerson: 100, ofAccount: 200, ofAll: 1_000, refusal: 'previews_exceeded' },
} as const satisfies Record<string, Most>

/** Counts the open replies of one kind. */
export class OpenReplies {
  readonly #most: Most
  readonly #open = new Map<string, number>()

  constructor(kind: keyof typeof MOST) {
    this.#most = MOST[kind]
  }

  /** Throws a refusal when the limit is reached. */
  check({ personId, accountId }: Owner): void {
    const { ofPerson, ofAccount, ofAll, refusal } = this.#most
    const isFull =
      this.#count(personId) >= ofPerson || this.#count(accountId) >= ofAccount || this.#count('all') >= ofAll
    if (isFull) throw new Refusal(refusal)
  }

  /** Throws as `check` does. Returns a function that releases the place; calling it twice is harmless. */
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
