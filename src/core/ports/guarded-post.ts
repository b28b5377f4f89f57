import type { TryCode } from '../notifications/delivery-try-codes.ts'

export interface PostWanted {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** How it ended. Its words are for the account’s own eyes: facts, but never an address that a name resolved to. */
export type PostEnd =
  | {
      readonly kind: 'answered'
      readonly status: number
      /** From `Retry-After`, in milliseconds; null when absent or unreadable. */
      readonly retryAfterMs: number | null
      /** The beginning of what was answered, as readable text; empty when there was nothing. */
      readonly excerpt: string
    }
  | { readonly kind: 'failed'; readonly code: TryCode; readonly words: string }

/**
 * Posts to URLs that accounts give, with the same guard as media downloads: every address is checked before it connects
 * (G9). Follows no redirect and knows no proxy. Never throws for what the outside does.
 */
export interface GuardedPost {
  post(wanted: PostWanted, signal: AbortSignal): Promise<PostEnd>
}
