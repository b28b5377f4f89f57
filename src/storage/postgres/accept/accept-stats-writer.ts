import type { Instant, TokenId } from '../../../core/ids.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import { type PgConnection, StatementRefused } from '../connection/pg-connection.ts'
import type { DoneBatch } from './accept-batch.ts'

const WRITE_EVERY_MS = 250
// "Last used" is for people, so a minute is exact enough.
const TOKEN_USE_NOTED_EVERY_MS = 60_000
const MOST_TOKENS_REMEMBERED = 20_000
// About ten seconds of commits while the database takes no writes. Above that, durations are lost.
const MOST_COMMITS_KEPT = 5_000

interface Commit {
  readonly first: number
  readonly last: number
  readonly tookUs: number
}

/**
 * What people want to know of acceptances and nothing depends on: how long the commits took, and when tokens were last
 * used. Written a moment later and for many at once, so that no acceptance waits for it.
 */
export class AcceptStatsWriter {
  readonly #link: PgConnection
  readonly #usedAt = new Map<TokenId, Instant>()
  #commits: Commit[] = []
  #uses = new Map<TokenId, Instant>()
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(link: PgConnection) {
    this.#link = link
  }

  committed({ firstSequence, results, tookUs }: DoneBatch): void {
    if (this.#commits.length >= MOST_COMMITS_KEPT) this.#commits.shift()
    this.#commits.push({ first: firstSequence, last: firstSequence + results.length - 1, tookUs })
    this.#plan()
  }

  used(tokenId: TokenId, now: Instant): void {
    const noted = this.#usedAt.get(tokenId)
    if (noted !== undefined && now - noted < TOKEN_USE_NOTED_EVERY_MS && now >= noted) return
    if (this.#usedAt.size >= MOST_TOKENS_REMEMBERED) this.#usedAt.clear()
    this.#usedAt.set(tokenId, now)
    this.#uses.set(tokenId, now)
    this.#plan()
  }

  /** Writes what there is. Harmless twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    await this.#write()
  }

  #plan(): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#write()
    }, WRITE_EVERY_MS)
    this.#timer.unref()
  }

  /** Never rejects, and never overtakes itself. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow())
    return this.#writing
  }

  async #writeNow(): Promise<void> {
    const [commits, uses] = [this.#commits, [...this.#uses]]
    if (commits.length + uses.length === 0) return
    this.#commits = []
    this.#uses = new Map()
    try {
      await this.#link.ask('select note_acceptances($1, $2, $3, $4, $5)', [
        bigintArray(commits.map(({ last }) => last)),
        bigintArray(commits.map(({ first }) => first)),
        bigintArray(commits.map(({ tookUs }) => tookUs)),
        textArray(uses.map(([tokenId]) => tokenId)),
        bigintArray(uses.map(([, at]) => at)),
      ])
    } catch (error) {
      // A bad value would fail for ever: its period was dropped meanwhile.
      if (error instanceof StatementRefused && error.kind === 'data') return
      this.#commits = [...commits, ...this.#commits].slice(-MOST_COMMITS_KEPT)
      this.#uses = new Map([...uses, ...this.#uses])
      this.#plan()
    }
  }
}
