import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MediaHosts } from './messages.ts'

/** A stanza. */
export interface StanzaNode {
  readonly tag: string
  readonly attrs: Readonly<Record<string, string | undefined>>
  readonly content?: readonly StanzaNode[] | Uint8Array | string
}

interface KeyPair {
  readonly public: Uint8Array
  readonly private: Uint8Array
}

export interface Credentials {
  readonly signedIdentityKey: KeyPair
  /** Signed by the phone, once it has linked the device. */
  readonly account?: object
  /** In base64. The code that a phone scans holds it. */
  advSecretKey: string
  /** The last one that was asked for. */
  readonly pairingCode?: string
  readonly me?: { readonly id: string; readonly lid?: string; readonly name?: string }
}

type KeyChanges = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Where the library keeps keys: by kind, then by id. Null removes. */
export interface KeyStore {
  get(kind: string, ids: readonly string[]): Promise<Record<string, unknown>>
  set(changes: KeyChanges): Promise<void>
}

/** The keys that the library hands to its Signal repository. */
export interface TransactionalKeys extends KeyStore {
  isInTransaction(): boolean
  transaction<Result>(work: () => Promise<Result>, key: string): Promise<Result>
}

/** What is needed to write to a device for the first time. */
interface KeyBundle {
  readonly identityKey: Uint8Array
  readonly signedPreKey: { readonly publicKey: Uint8Array; readonly signature: Uint8Array }
}

export interface SignalRepository {
  readonly lidMapping: {
    getLIDForPN(jid: string): Promise<string | null>
    getPNForLID(jid: string): Promise<string | null>
    storeLIDPNMappings(pairs: readonly { readonly pn: string; readonly lid: string }[]): Promise<void>
  }
  encryptMessage(plain: {
    readonly jid: string
    readonly data: Uint8Array
  }): Promise<{ readonly type: string; readonly ciphertext: Uint8Array }>
  decryptMessage(sealed: { readonly jid: string }): Promise<unknown>
  injectE2ESession(given: { readonly jid: string; readonly session: KeyBundle }): Promise<void>
  deleteSession(jids: readonly string[]): Promise<void>
  migrateSession(from: string, to: string): Promise<unknown>
}

export type MakeSignalRepository = (
  auth: { readonly creds: Credentials; readonly keys: TransactionalKeys },
  logger: unknown,
  toLids: unknown,
) => SignalRepository

export interface ConnectionUpdate {
  readonly connection?: 'connecting' | 'open' | 'close'
  readonly receivedPendingNotifications?: boolean
  /** The text of a QR code. */
  readonly qr?: string
  readonly lastDisconnect?: {
    readonly error?: { readonly output?: { readonly statusCode: number }; readonly data?: unknown }
  }
}

type NodeListener = (node: StanzaNode) => unknown

interface WebSocket {
  send(data: Uint8Array, sent: (error?: Error) => void): void
  terminate(): void
}

/** The part of Baileys' socket that is used. */
export interface LibrarySocket {
  readonly ev: {
    on(event: 'creds.update', listener: (changes: object) => void): void
    on(event: 'connection.update', listener: (update: ConnectionUpdate) => void): void
  }
  readonly ws: {
    on(event: string, listener: NodeListener): void
    off(event: string, listener: NodeListener): void
    listeners(event: string): readonly NodeListener[]
    /** Null before it connects and after it was closed. */
    readonly socket: WebSocket | null
    readonly isOpen: boolean
  }
  readonly authState: { readonly keys: KeyStore }
  readonly signalRepository: SignalRepository
  readonly serverProps?: { readonly lidTrustedTokenIssueToLid?: boolean }
  /** Undefined when it was not answered. Numbers that are not registered are left out. */
  onWhatsApp(number: string): Promise<readonly { readonly jid: string; readonly exists: boolean }[] | undefined>
  /** Undefined when it was not answered. */
  executeUSyncQuery(query: object): Promise<{ readonly list: readonly FoundPerson[] } | undefined>
  /** `isNew`: opens new ones, also where there are some. Rejects when a device is gone. */
  assertSessions(jids: readonly string[], isNew?: boolean): Promise<unknown>
  issuePrivacyTokens(jids: readonly string[]): Promise<StanzaNode | undefined>
  relayMessage(
    jid: string,
    message: object,
    options: { readonly messageId: string; readonly additionalNodes: object },
  ): Promise<string>
  sendNode(node: StanzaNode): Promise<void>
  refreshMediaConn(isFresh: boolean): Promise<MediaHosts>
  /** Resolves with the code before WhatsApp has answered. */
  requestPairingCode(number: string): Promise<string>
  sendPresenceUpdate(type: 'available' | 'unavailable' | 'composing', to?: string): Promise<void>
  fetchAccountReachoutTimelock(): Promise<{ readonly isActive: boolean; readonly timeEnforcementEnds?: Date }>
  /** Resolves with the answer; undefined, or rejected: there was none in time. Rejects when it is refused. */
  query(node: StanzaNode, mostMs: number): Promise<StanzaNode | undefined>
  end(error: Error | undefined): Promise<void>
}

/** What WhatsApp says of a person, as the library reads it. */
interface FoundPerson {
  readonly id: string
  readonly lid?: string
}

interface PeopleQuery {
  withContext(context: string): PeopleQuery
  withDeviceProtocol(): PeopleQuery
  withLIDProtocol(): PeopleQuery
  withUser(user: object): PeopleQuery
}

interface MessageCodec {
  fromObject(object: object): object
  encode(message: object): { finish(): Uint8Array }
  decode(bytes: Uint8Array): object
}

/** What we use of the library. It brings types of its own, but only where it is installed. */
export interface Library {
  makeWASocket(options: object): LibrarySocket
  initAuthCreds(): Credentials
  readonly BufferJSON: {
    readonly replacer: (key: string, value: unknown) => unknown
    readonly reviver: (key: string, value: unknown) => unknown
  }
  /** With padding, as it is encrypted. */
  encodeWAMessage(message: object): Uint8Array
  encodeSignedDeviceIdentity(account: object | undefined, withKey: boolean): Uint8Array
  readonly USyncQuery: new () => PeopleQuery
  readonly USyncUser: new () => { withId(jid: string): object }
  /** Without this device. */
  extractDeviceJids(
    people: readonly FoundPerson[],
    ownJid: string,
    ownLid: string | undefined,
    withoutPhone: boolean,
  ): readonly { readonly user: string; readonly server: string; readonly device: number }[]
  jidEncode(user: string, server: string, device: number): string
  /** The keys that a device sent along because it could not read a message; null when it sent none. */
  extractE2ESessionFromRetryReceipt(receipt: StanzaNode): KeyBundle | null
  readonly Curve: { verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean }
  readonly DEFAULT_CONNECTION_CONFIG: {
    readonly makeSignalRepository: MakeSignalRepository
    readonly version: readonly [number, number, number]
  }
  /** The root of the certificates. */
  readonly WA_CERT_DETAILS: { PUBLIC_KEY: Uint8Array }
  readonly proto: {
    readonly Message: MessageCodec & { readonly AppStateSyncKeyData: { fromObject(object: unknown): unknown } }
  }
}

/** Rejects where Baileys is not installed in `folder`. */
export async function loadLibrary(folder: string): Promise<Library> {
  return (await import(pathToFileURL(join(folder, 'node_modules/baileys/lib/index.js')).href)) as Library
}

/** It writes lines with numbers and keys in them. */
export const SILENT_LOGGER = {
  level: 'silent',
  child: () => SILENT_LOGGER,
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
}
