/** Where a sealed text lies. It opens nowhere else, so that a row copied onto another tells nothing. */
export interface SecretPlace {
  /** What it is for; each purpose has a key of its own. */
  readonly purpose: 'connection' | 'second-factor'
  /** Null for what belongs to a person and not to an account. */
  readonly accountId: string | null
  /** The id of the row that it belongs to. */
  readonly owner: string
  /** Which of the secrets of that row it is. */
  readonly name: string
}

/** Keeps secrets unreadable for whoever has the database and not the key ring. */
export interface Secrets {
  /** The same text sealed twice gives two different ones. */
  seal(plain: string, place: SecretPlace): string
  /** Throws `SecretUnreadable` when its key is not in the ring, it was changed, or it belongs elsewhere. */
  open(sealed: string, place: SecretPlace): string
  /** Whether a text looks like one that `seal` made. */
  isSealed(text: string): boolean
}

/** A secret that cannot be opened. Its message says why, and nothing of the secret. */
export class SecretUnreadable extends Error {}
