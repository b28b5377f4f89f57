import type { AccountId, Instant } from '../../ids.ts'
import type { Role } from '../../people/role.ts'
import type { ThrottledTry } from '../../people/throttle.ts'

/** How a person has authenticated. */
export type Proof = 'password' | 'password and code' | 'password and recovery code' | 'passkey' | 'link'

interface NewSession {
  readonly personId: string
  /** The hash of the 256 random bits in the cookie. */
  readonly sha256: Buffer
  readonly proof: Proof
  /** “Keep me signed in”. */
  readonly isKept: boolean
  readonly remoteAddress: string | null
  readonly userAgent: string | null
}

/** A session as its person sees it. */
interface SessionView {
  readonly id: string
  readonly startedAt: Instant
  readonly lastUsedAt: Instant
  /** It ends then, however busy it is. */
  readonly endsAt: Instant
  readonly isKept: boolean
  readonly proof: Proof
  readonly remoteAddress: string | null
  readonly userAgent: string | null
}

/** What a request may do that carries the cookie of a living session. */
export interface AuthenticatedSession {
  readonly sessionId: string
  readonly personId: string
  readonly email: string
  readonly name: string
  /** When the person last showed who they are: at sign-in, or later for a sensitive act. */
  readonly provenAt: Instant
  readonly hasSecondFactor: boolean
  readonly memberships: readonly {
    readonly accountId: AccountId
    readonly role: Role
    /** The account is closed to persons without a second factor. */
    readonly requiresSecondFactor: boolean
  }[]
}

/** Given to a browser, which must return it with its answer: to the second step of signing in, or to a passkey's challenge. */
export interface Ticket {
  readonly sha256: Buffer
  readonly kind: 'second-factor' | 'passkey-sign-in' | 'passkey-step-up' | 'passkey-new'
  /** Null while the person is unknown. */
  readonly personId: string | null
  /** For the code that made it, such as the challenge of a passkey. */
  readonly content: string
  readonly expiresAt: Instant
}

/** Who is signed in, and who tries to be. */
export interface Sessions {
  /** Begins a session and returns its id. Always a new id, so that none from before the sign-in stays valid. */
  begin(session: NewSession): Promise<string>
  /** Null when there is none, or it has ended. Notes that it was used, once a minute. */
  find(sha256: Buffer): Promise<AuthenticatedSession | null>
  /** After a step-up: proven now, and from now on found by the new hash only. False when it has ended meanwhile. */
  prove(sessionId: string, newSha256: Buffer): Promise<boolean>
  /** The living ones, last used first. */
  list(personId: string): Promise<readonly SessionView[]>
  /** False when the person has no such session. */
  end(personId: string, sessionId: string): Promise<boolean>
  /** All of the person, except that one. Returns how many. */
  endAll(personId: string, except: string | null): Promise<number>

  /**
   * Counts one try on each of these counters, all or none, before its result is known: otherwise many guesses could be made
   * at once. Null: go on. Otherwise none was counted, and the next try may be made at that time.
   */
  countTry(tries: readonly ThrottledTry[]): Promise<Instant | null>
  /** It was the right person: the counters in `reset` start again at zero, those in `returned` count this try no more. */
  forgiveTry(given: { readonly reset: readonly string[]; readonly returned: readonly string[] }): Promise<void>

  /** Has this person signed in with this browser before? */
  knowsDevice(personId: string, sha256: Buffer): Promise<boolean>
  rememberDevice(personId: string, sha256: Buffer): Promise<void>

  addTicket(ticket: Ticket): Promise<void>
  /** Null when it is unknown, of another kind or too old. `take` consumes it. */
  findTicket(sha256: Buffer, kind: Ticket['kind'], take: boolean): Promise<Ticket | null>
  dropTicket(sha256: Buffer): Promise<void>
}
