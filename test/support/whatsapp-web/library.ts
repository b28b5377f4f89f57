import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../../../scripts/source-tree.ts'
import type { MediaHosts } from '../../../src/channels/whatsapp-web/thread/messages.ts'
import type { BinaryNode } from './binary-node.ts'
import type { KeyPair } from './noise-responder.ts'

/** The tests prove the assumptions of the channel for this version only. */
export const LIBRARY = { name: 'baileys', version: '7.0.0-rc14' } as const

/** The folder in which the set-up of the tests installs it. */
export const LIBRARY_FOLDER = join(ROOT, 'node_modules/.setup/whatsapp-web')

/** A message type of Protocol Buffers. */
interface Codec<Value> {
  encode(value: Value): { finish(): Uint8Array }
  decode(bytes: Uint8Array): Value
}

export interface ClientPayload {
  readonly userAgent?: { readonly appVersion?: { readonly tertiary?: number } }
  readonly username?: number | { toString(): string } | null
  readonly device?: number | null
  readonly devicePairingData?: PairingData | null
}

/** What a device that is not linked yet sends about itself. */
export interface PairingData {
  readonly eRegid: Uint8Array
  readonly eIdent: Uint8Array
  readonly eSkeyId: Uint8Array
  readonly eSkeyVal: Uint8Array
  readonly eSkeySig: Uint8Array
}

interface SignedDeviceIdentity {
  readonly details: Uint8Array
  readonly accountSignatureKey?: Uint8Array
  readonly accountSignature: Uint8Array
  readonly deviceSignature?: Uint8Array
}

/** A file of a message: where it is, and the key that decrypts it. */
export interface AttachmentProto {
  readonly directPath: string
  readonly mediaKey: Uint8Array
  readonly fileSha256: Uint8Array
  readonly fileEncSha256: Uint8Array
  readonly fileLength: number | { toString(): string }
  readonly mimetype: string
  readonly caption?: string | null
  readonly fileName?: string | null
  readonly width?: number | null
  readonly height?: number | null
  readonly seconds?: number | null
  readonly jpegThumbnail?: Uint8Array | null
}

/** A message as a recipient reads it. */
export interface MessageProto {
  readonly imageMessage?: AttachmentProto | null
  readonly videoMessage?: AttachmentProto | null
  readonly audioMessage?: AttachmentProto | null
  readonly documentMessage?: AttachmentProto | null
  readonly extendedTextMessage?: { readonly text: string } | null
  readonly deviceSentMessage?: { readonly destinationJid: string; readonly message: MessageProto } | null
  readonly messageContextInfo?: { readonly messageSecret: Uint8Array } | null
}

export interface SignalRepository {
  decryptMessage(sealed: { jid: string; type: 'pkmsg' | 'msg'; ciphertext: Uint8Array }): Promise<Uint8Array>
  encryptMessage(plain: { jid: string; data: Uint8Array }): Promise<{ type: 'pkmsg' | 'msg'; ciphertext: Uint8Array }>
  injectE2ESession(bundle: { jid: string; session: unknown }): Promise<void>
}

type KeyEntries = Readonly<Record<string, unknown>>

/** Where the library stores keys. `null` deletes one. */
export interface KeyStore {
  get(kind: string, ids: readonly string[]): Promise<Record<string, unknown>>
  set(entries: Readonly<Record<string, KeyEntries>>): Promise<void>
}

export interface Credentials {
  readonly noiseKey: KeyPair
  readonly signedIdentityKey: KeyPair
  readonly signedPreKey: {
    readonly keyId: number
    readonly keyPair: KeyPair
    readonly signature: Uint8Array
  }
  readonly registrationId: number
  advSecretKey: string
  nextPreKeyId: number
  firstUnuploadedPreKeyId: number
  me?: { readonly id: string; readonly lid?: string }
}

export type MakeSignalRepository = (
  auth: { creds: Credentials; keys: unknown },
  logger: unknown,
  toLids: unknown,
) => SignalRepository

export interface ConnectionUpdate {
  readonly connection?: 'connecting' | 'open' | 'close'
  readonly qr?: string
  readonly receivedPendingNotifications?: boolean
  readonly reachoutTimeLock?: unknown
  readonly lastDisconnect?: { readonly error?: { readonly output?: { readonly statusCode: number } } & Error }
}

type NodeListener = (node: BinaryNode) => unknown

export interface Socket {
  readonly ev: {
    on(event: 'creds.update', listener: () => void): void
    on(event: 'connection.update', listener: (update: ConnectionUpdate) => void): void
    on(event: 'messages.update', listener: (updates: readonly unknown[]) => void): void
    isBuffering(): boolean
    flush(): boolean
  }
  readonly ws: {
    on(event: string, listener: NodeListener): void
    off(event: string, listener: NodeListener): void
    listeners(event: string): readonly NodeListener[]
    readonly socket: { terminate(): void }
    readonly isOpen: boolean
  }
  readonly authState: { readonly keys: KeyStore }
  readonly signalRepository: SignalRepository
  assertSessions(jids: readonly string[], force: boolean): Promise<unknown>
  onWhatsApp(number: string): Promise<readonly { jid: string; exists: boolean }[] | undefined>
  getUSyncDevices(jids: readonly string[], isCacheIgnored: boolean, isZeroIgnored: boolean): Promise<unknown[]>
  relayMessage(jid: string, message: object, options: object): Promise<string>
  refreshMediaConn(isFresh: boolean): Promise<MediaHosts>
  requestPairingCode(number: string): Promise<string>
  sendNode(node: BinaryNode): Promise<void>
  fetchAccountReachoutTimelock(): Promise<{ readonly isActive: boolean; readonly timeEnforcementEnds?: Date }>
  logout(): Promise<void>
  end(error: Error | undefined): Promise<void>
}

/** The parts of the library that tests use. Its own types are only there where it is installed. */
export interface WhatsAppLibrary {
  makeWASocket(options: object): Socket
  initAuthCreds(): Credentials
  encodeBinaryNode(node: BinaryNode): Uint8Array
  decodeBinaryNode(bytes: Buffer): Promise<BinaryNode>
  getMediaKeys(
    mediaKey: Uint8Array,
    type: string,
  ): Promise<{ readonly iv: Buffer; readonly cipherKey: Buffer; readonly macKey: Buffer }>
  unpadRandomMax16(bytes: Uint8Array): Uint8Array
  readonly BufferJSON: {
    readonly replacer: (key: string, value: unknown) => unknown
    readonly reviver: (key: string, value: unknown) => unknown
  }
  readonly Curve: {
    generateKeyPair(): KeyPair
    sign(privateKey: Uint8Array, message: Uint8Array): Buffer
    verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean
  }
  readonly DEFAULT_CONNECTION_CONFIG: { readonly makeSignalRepository: MakeSignalRepository }
  /** The root of the certificates. Tests set it to the simulator's. */
  readonly WA_CERT_DETAILS: { PUBLIC_KEY: Uint8Array }
  readonly proto: {
    readonly HandshakeMessage: Codec<{
      clientHello?: { ephemeral: Uint8Array }
      clientFinish?: { static: Uint8Array; payload: Uint8Array }
      serverHello?: { ephemeral: Uint8Array; static: Uint8Array; payload: Uint8Array }
    }>
    readonly ClientPayload: Codec<ClientPayload>
    readonly CertChain: Codec<Record<'leaf' | 'intermediate', { details: Uint8Array; signature: Uint8Array }>> & {
      readonly NoiseCertificate: {
        readonly Details: Codec<{ serial: number; issuerSerial: number; key: Uint8Array }>
      }
    }
    readonly ADVDeviceIdentity: Codec<object>
    readonly ADVSignedDeviceIdentity: Codec<SignedDeviceIdentity>
    readonly ADVSignedDeviceIdentityHMAC: Codec<{ details: Uint8Array; hmac: Uint8Array }>
    readonly Message: Codec<MessageProto> & { fromObject(object: object): MessageProto }
  }
}

interface WebSocketLibrary {
  readonly WebSocketServer: new (options: object) => WebSocketServer
}

export interface WebSocketServer {
  on(event: 'connection', listener: (socket: WebSocket) => void): void
  readonly clients: Iterable<WebSocket>
  close(): void
}

export interface WebSocket {
  readonly readyState: number
  on(event: 'message', listener: (data: Buffer) => void): void
  on(event: 'close' | 'error', listener: () => void): void
  send(data: Uint8Array): void
  pause(): void
  resume(): void
  terminate(): void
}

/** The reason in the name of a skipped test; null if the library is installed. */
export function whyNoLibrary(): string | null {
  return existsSync(join(LIBRARY_FOLDER, 'node_modules/.package-lock.json'))
    ? null
    : 'the bootstrap of the tests could not install the library of WhatsApp Web'
}

export async function loadLibrary(): Promise<WhatsAppLibrary> {
  return (await import(locate('baileys/lib/index.js'))) as WhatsAppLibrary
}

/** Loads the WebSocket package that the library itself uses. */
export async function loadWebSockets(): Promise<WebSocketLibrary> {
  return (await import(locate('ws/wrapper.mjs'))) as WebSocketLibrary
}

/** The installed version. */
export function installedVersion(): string {
  const text = readFileSync(join(LIBRARY_FOLDER, 'node_modules', LIBRARY.name, 'package.json'), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}

function locate(path: string): string {
  return pathToFileURL(join(LIBRARY_FOLDER, 'node_modules', path)).href
}
