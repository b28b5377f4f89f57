/** The place of a sealed text. It opens nowhere else, so copying a row onto another reveals nothing. */
export interface SecretPlace {
  /** What it is for; each purpose has a key of its own. */
  readonly purpose: SecretKind | 'canary'
  /** Null for what belongs to a person and not to an account. */
  readonly accountId: string | null
  /** The id of the row that it belongs to. */
  readonly owner: string
  /** Which of the secrets of that row it is. */
  readonly name: string
}

/** Keeps secrets unreadable without the key ring, even with the database. */
export interface Secrets {
  /** The same text sealed twice gives two different ones. */
  seal(plain: string, place: SecretPlace): string
  /** Throws `SecretUnreadable` when its key is not in the ring, it was changed, or it belongs elsewhere. */
  open(sealed: string, place: SecretPlace): string
  /** Whether a text has the form of one that `seal` made. */
  isSealed(text: string): boolean
}

/** A secret that cannot be opened. Its message says why, and nothing of the secret. */
export class SecretUnreadable extends Error {}

/**
 * A text that the key ring of this installation opens, kept in the database. Every start checks with it whether the
 * ring is the right one, before anything is sealed with a wrong one.
 */
export interface Canary {
  /** The key that everything is sealed with, if the last rotation was finished. */
  readonly keyId: string
  readonly sealed: string
}

/** What a start has to know. */
export interface KeyFacts {
  /** Null in a database without sealed texts. */
  readonly canary: Canary | null
}

/** Those of `block-list` belong to an account: they make the hashes of numbers that were erased. */
export type SecretKind = 'connection' | 'second-factor' | 'block-list' | 'webhook' | 'session'

/** The secrets of one row, and other texts among them. */
export interface SecretRow {
  readonly kind: SecretKind
  /** Null for what belongs to a person and not to an account. */
  readonly accountId: string | null
  /** The id of the connection, of the person or of the webhook. */
  readonly owner: string
  /** By the name that the row has for each. */
  readonly texts: Readonly<Record<string, string>>
  /** All of it as it was read. */
  readonly version: string
}

/**
 * What is sealed in the database. It does not know what the texts mean. Each verb is one statement, and rejects as the
 * engine does when the database is away.
 */
export interface SecretStore {
  readKeyFacts(): Promise<KeyFacts>
  /** Does nothing when there is one already: if several start together, the first one counts. */
  addCanary(canary: Canary): Promise<void>
  replaceCanary(canary: Canary): Promise<void>
  /** The next rows after this owner, in the order of their owners. */
  listSecrets(kind: SecretKind, after: string | null, limit: number): Promise<readonly SecretRow[]>
  /** False, and nothing is changed, when the row has changed since it was read. */
  replaceSecrets(row: SecretRow, texts: Readonly<Record<string, string>>): Promise<boolean>
  /** For the audit log. */
  noteKeyChange(action: 'add-key' | 'rotate' | 'remove-key', keyId: string, by: string): Promise<void>
}
