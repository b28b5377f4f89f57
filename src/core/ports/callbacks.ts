import type { AccountId } from '../ids.ts'

/** What is known of a callback before its body is read. */
export interface CallbackHead {
  readonly method: 'GET' | 'POST'
  /** The last part of the path: whose callback it claims to be. */
  readonly callbackApp: string
  readonly query: URLSearchParams
  /** By lower-case name; one that came twice is left out. */
  readonly headers: Readonly<Record<string, string>>
}

/** A request of a network to the address that it was given for callbacks. */
export interface CallbackRequest extends CallbackHead {
  /** Byte for byte; empty for GET. */
  readonly body: Uint8Array
}

export interface CallbackReply {
  readonly status: number
  /** Plain text. */
  readonly body: string
}

/** What the head alone tells: why it is turned away, or whose address it was sent to. */
export type HeadCheck = { readonly refusal: CallbackReply } | { readonly refusal: null; readonly owner: AccountId }

/** The part of a channel that takes callbacks. It works without the channel being started, in any process that serves HTTP. */
export interface CallbackReceiver {
  /** The part of the path that stands for the channel. */
  readonly channel: string
  readonly maxBodyBytes: number
  /**
   * Turns away what the head alone gives reason to, such as an address that nobody has: then nothing of the body is kept.
   * Otherwise names the account whose address it is. One account may have many addresses, and what reading the body
   * costs is shared out by account. It is not proven that the network sent it. Rejects as `receive` does.
   */
  checkHead(head: CallbackHead): Promise<HeadCheck>
  /**
   * Answers once what the request tells is stored durably; applying it comes later. Rejects with `StorageUnavailable` when
   * it could not be stored: then the network is told to come again.
   */
  receive(request: CallbackRequest): Promise<CallbackReply>
}
