import type { WantedVersion } from '../client-version.ts'
import type { Deadline } from './deadline.ts'

/** With what the thread is started. */
export interface ThreadData {
  /** Where the library was installed. */
  readonly folder: string
  /** The root of certificates, in base64; null: the library's own, which is WhatsApp's. */
  readonly rootKey: string | null
}

export interface SocketOptions {
  readonly url: string
  /** As JSON of the library; null: new ones are made, for a device that is to be linked. */
  readonly credentials: string | null
  /** Null: the library's own. */
  readonly version: WantedVersion | null
  /** For a device that is to be linked; left out for a login. */
  readonly pairing?: PairingOptions
}

export interface PairingOptions {
  /** The phone's number. */
  readonly number: string
  /** With a code that is typed into the phone instead of a QR code. */
  readonly byCode: boolean
}

/** What happened to a socket. `closed` is the last. */
export type SocketChange =
  /** WhatsApp has accepted the login, and what waited has come. */
  | {
      readonly kind: 'ready'
      /** As WhatsApp numbers the devices of the phone. */
      readonly device: string
      readonly version: string
    }
  | PairingChange
  | {
      readonly kind: 'closed'
      /** WhatsApp's code; null when the line ended without one. */
      readonly code: number | null
      /** For how long WhatsApp refuses the number; null when it did not say. */
      readonly expiresInMs: number | null
    }

/** What happens while a device is being linked. */
export type PairingChange =
  /** What the phone must be shown from now on: the text of a QR code, or the code to type. */
  | {
      readonly kind: 'code'
      readonly text: string
      readonly number: number
      readonly of: number
      readonly validMs: number
    }
  /** The phone has accepted the code. */
  | { readonly kind: 'confirmed' }
  /** WhatsApp gives out no code for this number. */
  | { readonly kind: 'code-refused'; readonly code: string }
  /** Another phone has scanned it: nothing was linked. */
  | { readonly kind: 'other-number'; readonly lastDigits: string }

/** What WhatsApp reports about messages. */
export interface SocketReceipt {
  readonly wireIds: readonly string[]
  /** `unreadable`: a device could not read it, and it was sent again to that one. */
  readonly kind: 'sent' | 'delivered' | 'read' | 'unreadable'
  /** By WhatsApp's clock; null when it names no time. */
  readonly at: number | null
}

/** A key: its kind and id, and its value as JSON of the library, or null to remove it. */
type KeyText = readonly [kind: string, id: string, text: string | null]

/** A field of WhatsApp's message, such as `imageMessage`, with what stands in it. Bytes are base64. */
export type MessageFields = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>

/** Where WhatsApp takes files for a while, and the token that it takes them with. */
export interface MediaHosts {
  readonly auth: string
  readonly hosts: readonly { readonly hostname: string; readonly maxContentLengthBytes: number }[]
}

/** A message to be written. */
export interface SocketOrder {
  /** The recipient as WhatsApp addresses it. */
  readonly jid: string
  readonly wireId: string
  readonly fields: MessageFields
}

/** What people see of a number besides its messages. */
export interface Shown {
  readonly isOnline: boolean
  /** Who sees that something is typed, as WhatsApp addresses them; null: not shown. */
  readonly typesTo: string | null
}

/** What WhatsApp said of a number. `jid`: how it addresses the person. */
export type Found =
  | { readonly kind: 'found'; readonly jid: string }
  | { readonly kind: 'not-on-whatsapp' }
  /** A query was not answered, or not as it should be. */
  | { readonly kind: 'unanswered' }

/** What became of a message that was handed to the socket. */
export type RelayEnd =
  /** `error`: the code with which WhatsApp refused it. */
  | { readonly kind: 'acked'; readonly error: string | null }
  /** Nothing was written. */
  | { readonly kind: 'not-left'; readonly why: 'held-back' | 'not-encrypted' }
  /** It was written, or may have been. */
  | { readonly kind: 'unanswered'; readonly why: 'late' | 'closed' | 'cancelled' }

/** Whether WhatsApp lets a number write to people who never wrote to it. */
export interface ContactLock {
  readonly isActive: boolean
  /** Null: it does not say until when. */
  readonly until: number | null
}

/** What the thread asks for. `socket` is the number that `open` was given. */
export interface HostMethods {
  readKeys(
    socket: number,
    kind: string,
    ids: readonly string[],
  ): Promise<readonly (readonly [id: string, text: string])[]>
  /** Resolves once it is committed. Rejects when it was not. */
  writeKeys(socket: number, keys: readonly KeyText[]): Promise<void>
  writeCredentials(socket: number, text: string): Promise<void>
  /** Resolves once it is committed. */
  keepReceipt(socket: number, receipt: SocketReceipt): Promise<void>
  /** The message that a device could not read; null: it is not to be sent again. */
  findRepeat(
    socket: number,
    wireId: string,
    device: string,
  ): Promise<{ readonly to: string; readonly fields: MessageFields } | null>
  /** Whether it may be sent again at this moment. Then that is counted, and committed. Rejects when that is not known. */
  mayRepeat(socket: number, wireId: string, device: string): Promise<boolean>
  /** Until when the message may be written; null: not at all. */
  mayLeave(socket: number, wireId: string): Deadline | null
  changed(socket: number, change: SocketChange): void
}

/** What the thread does. */
export interface ThreadMethods {
  /** `until`: as for `renew`. */
  open(socket: number, options: SocketOptions, until: Deadline): void
  /** Until then the sockets may write anything at all. */
  renew(sockets: readonly number[], until: Deadline): void
  /** Resolves once nothing can be written any more. `logsOut` unlinks the device first: whether WhatsApp has answered that. */
  close(socket: number, how: { readonly logsOut: boolean }): Promise<boolean>
  /** Finds the recipient and opens encrypted sessions with its devices. Repeating it is harmless. */
  find(socket: number, number: string): Promise<Found>
  /** Where files go; `isFresh`: what WhatsApp said before was refused. */
  mediaHosts(socket: number, isFresh: boolean): Promise<MediaHosts>
  contactLock(socket: number): Promise<ContactLock>
  show(socket: number, shown: Shown): void
  /** Writes the message at most once. */
  relay(socket: number, order: SocketOrder): Promise<RelayEnd>
  /** Ends a `relay` soon. */
  cancel(socket: number): void
}
