import type { AccountId } from '../ids.ts'

/** What is known of a callback before its body is read. */
export interface CallbackHead {
  readonly method: 'GET' | 'POST'
  /** The last part of the path: the callback address. */
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
  /** Plain text, unless `headers` names another type. */
  readonly body: string
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The result of checking the headers: the refusal, or the account that owns the address. */
export type HeadCheck = { readonly refusal: CallbackReply } | { readonly refusal: null; readonly owner: AccountId }

/** The part of a channel that takes callbacks. It works without the channel being started, in any process that serves HTTP. */
export interface CallbackReceiver {
  /** The part of the path that stands for the channel. */
  readonly channel: string
  readonly maxBodyBytes: number
  /**
   * Refuses what can be refused by its headers, such as an unknown address: then nothing of the body is kept. Otherwise returns
   * the account that owns the address, because the cost of reading bodies is limited by account, which may have many
   * addresses. It does not prove that the network sent it. Rejects as `receive` does.
   */
  checkHead(head: CallbackHead): Promise<HeadCheck>
  /**
   * Answers once the content of the request is stored durably; applying it comes later. Rejects with `StorageUnavailable`
   * when it could not be stored: then the reply asks the network to retry.
   */
  receive(request: CallbackRequest): Promise<CallbackReply>
}
