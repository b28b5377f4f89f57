/** The return value of `startSimulator` in simulator.ts. */
export interface Simulator {
  /** The base URL without a trailing slash: the value for NUNCIO_WHATSAPP_CLOUD_URL. */
  readonly url: string
  /** Closes every connection, hanging ones included, and stops the callbacks. Closing twice is harmless. */
  close(): Promise<void>

  addNumber(number: SimulatedNumber): void
  /** Changes a number, for example its access token, its quality, or that it is gone. */
  changeNumber(phoneNumberId: string, change: Partial<SimulatedNumber>): void
  addTemplate(businessAccountId: string, template: SimulatedTemplate): void

  /** What phones received, in the order in which the network accepted it. */
  readonly sent: readonly SentMessage[]
  /** All uploads, the oldest first, including deleted and expired ones. */
  readonly uploads: readonly Upload[]
  /** Every call, including refused and dropped ones. */
  readonly requests: readonly SeenRequest[]
  /** How many calls of this kind are not answered yet. */
  underWay(kind: RequestKind): number

  /** All windows are open until a test closes them. */
  openWindow(to: string): void
  /** Closes a window. `by-callback`: a call is answered with 200, and 131047 follows as a failed status. */
  closeWindow(to: string, reported?: 'at-once' | 'by-callback'): void

  /** Refuses calls with this code of the published table, in Meta's words. */
  fail(refusal: Refusing): void
  /** Breaks the connection after the message was accepted, before any byte of the answer. */
  dropAfterActing(share: FaultShare): void
  /** Breaks the connection when the request has been read, before anything is done. */
  dropBefore(share: FaultShare): void
  /** Sets any of the faults. They are tried in the order in which they were set. */
  fault(kind: FaultKind, share: FaultShare): void
  /** Removes all faults and refusals. Windows stay as they are. */
  healAll(): void

  /** Reports messages that are accepted from now on. Replaces an earlier plan for the same numbers. */
  deliverCallbacks(plan: CallbackPlan): void
  /** Resolves when all callbacks were delivered or given up. */
  callbacksIdle(): Promise<void>
  /** Calls the URL as Meta does when a person enters it. True if it returned the challenge. */
  verifyCallback(phoneNumberId: string, url: string): Promise<boolean>
  /** The same, and also returns the status. Rejects without an answer. */
  challenge(phoneNumberId: string, url: string): Promise<{ readonly isRight: boolean; readonly status: number }>
  /** Every try of a delivery, with its answer. */
  readonly callbackTries: readonly CallbackTry[]
  /** A person writes to the number: opens the window and calls back. Returns the wamid. */
  receive(inbound: { readonly phoneNumberId: string; readonly from: string; readonly text: string }): string
  /** Calls back with a change of this field of the number's business account, for example phone_number_quality_update. */
  announce(phoneNumberId: string, field: string, value: Readonly<Record<string, unknown>>): void
}

export interface SimulatorOptions {
  /** By default 0: any free port. */
  readonly port?: number
  readonly host?: string
  /** Milliseconds since 1970, for windows, media ids and rates. By default the wall clock. */
  readonly now?: () => number
  /** The seed for shares, delays and orders. */
  readonly seed?: number
  /** Milliseconds before every answer. By default 0. */
  readonly latencyMs?: number
  /** Called when a call has ended, with any result. */
  readonly onRequest?: (request: SeenRequest) => void
  readonly onCallback?: (tried: CallbackTry) => void
}

export interface SimulatedNumber {
  readonly phoneNumberId: string
  readonly businessAccountId: string
  /** The sender number: digits with the country code. */
  readonly number: string
  readonly accessToken: string
  readonly appSecret: string
  readonly verifyToken: string
  /** By default 80. */
  readonly throughputPerSecond?: number
  /** By default `Nuncio Test`. */
  readonly verifiedName?: string
  /** By default GREEN. */
  readonly quality?: 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN'
  /** By default CONNECTED. With the others, calls are refused with 133010. */
  readonly status?: 'CONNECTED' | 'DISCONNECTED' | 'FLAGGED' | 'RESTRICTED' | 'PENDING'
  /** True: the number behaves as deleted. */
  readonly isGone?: boolean
}

export interface SimulatedTemplate {
  readonly name: string
  /** For example en_US. */
  readonly language: string
  /** Contains {{1}}, {{2}}… for its parameters. */
  readonly body: string
  /** By default APPROVED. */
  readonly status?: 'APPROVED' | 'PENDING' | 'REJECTED' | 'PAUSED' | 'DISABLED'
  /** By default UTILITY. */
  readonly category?: 'UTILITY' | 'MARKETING' | 'AUTHENTICATION'
  /** By default there is no header. */
  readonly header?: 'TEXT' | 'IMAGE' | 'DOCUMENT' | 'VIDEO' | 'LOCATION'
  /** The text of a header of kind TEXT. */
  readonly headerText?: string
  readonly footer?: string
  /** Parameters have names, {{name}}, instead of numbers. */
  readonly hasNamedParameters?: boolean
}

export interface SentMessage {
  readonly wamid: string
  readonly phoneNumberId: string
  /** The sender number. */
  readonly from: string
  /** As the request had it. */
  readonly to: string
  /** Digits only. */
  readonly waId: string
  readonly type: 'text' | 'image' | 'document' | 'video' | 'audio' | 'template'
  /** The whole request body. */
  readonly body: Readonly<Record<string, unknown>>
  /** The body as it came over the wire. */
  readonly raw: string
  /** The text that the phone shows: a text, a caption, or a template with its parameters filled in. Null if there is none. */
  readonly text: string | null
  /** What the phone can open; null if there is nothing. */
  readonly media: SentMedia | null
  /** biz_opaque_callback_data; null if it was not given. */
  readonly opaque: string | null
  readonly at: number
}

export interface SentMedia {
  /** Null if the file was given by link. */
  readonly upload: Upload | null
  readonly link: string | null
  /** Only for documents. */
  readonly filename: string | null
  readonly isVoice: boolean
}

export interface Upload {
  readonly id: string
  readonly phoneNumberId: string
  readonly mime: string
  readonly filename: string
  readonly bytes: Buffer
  /** As hexadecimal digits. */
  readonly sha256: string
  readonly at: number
}

export interface SeenRequest {
  readonly method: string
  /** With its query, without secrets. */
  readonly path: string
  readonly kind: RequestKind
  /** The digits of `to`; null if there is no `to`. */
  readonly waId: string | null
  /** The HTTP status of the answer; null if there was none. */
  readonly status: number | null
  /** The code of the error; null if there was none. */
  readonly code: number | null
  readonly fault: FaultKind | null
  /** Whether something was sent or stored. */
  readonly acted: boolean
  readonly at: number
}

export type RequestKind = 'messages' | 'media' | 'other'

/**
 * - `drop-before`: nothing is done, the connection is reset.
 * - `drop-after`: all is done, the connection is reset before the answer.
 * - `half-answer`: all is done, the connection is reset in the middle of the answer's body.
 * - `hang-before`, `hang-after`: no answer ever, nothing or all being done.
 * - `no-code`: HTTP 503 with a page of a proxy, and nothing is done. `no-code-after`: the same, and all is done.
 * - `garbage`: HTTP 200 with something that is no JSON, and all is done.
 * - `no-id`: HTTP 200 without an id of the message, and all is done.
 * - `slow`: the right answer, late.
 */
export type FaultKind =
  | 'drop-before'
  | 'drop-after'
  | 'half-answer'
  | 'hang-before'
  | 'hang-after'
  | 'no-code'
  | 'no-code-after'
  | 'garbage'
  | 'no-id'
  | 'slow'

/** Selects calls of this kind and to this recipient, at most `times` of them, each with the probability `rate`. */
export interface FaultShare {
  /** By default any recipient. Only calls that send have one. */
  readonly to?: string
  /** `messages` by default. */
  readonly on?: RequestKind
  /** By default without limit. */
  readonly times?: number
  /** From 0 to 1, drawn from the seed. By default 1. */
  readonly rate?: number
  /** Only for `slow`. By default 3,000. */
  readonly delayMs?: number
}

export interface Refusing extends FaultShare {
  readonly code: number
  /** By default the status of Meta's table for this code. */
  readonly httpStatus?: number
  /** The value of `error_data.details`. */
  readonly details?: string
}

export type CallbackStatus = 'sent' | 'delivered' | 'read' | 'played'

export interface CallbackPlan {
  readonly url: string
  /** The numbers that the plan applies to. By default all. */
  readonly phoneNumberIds?: readonly string[]
  /** In this order. By default sent, delivered and read. */
  readonly statuses?: readonly CallbackStatus[]
  /** Milliseconds between statuses: a fixed number or a range. By default 0. */
  readonly delayMs?: number | readonly [least: number, most: number]
  /** The share of deliveries that are repeated, up to two more times. */
  readonly repeat?: number
  /** Each status has its own delay, so that `read` may overtake `sent`. */
  readonly shuffle?: boolean
  /** The share of statuses that never come. */
  readonly lose?: number
  /** The most statuses in one body. By default 1. */
  readonly batch?: number
  /** Which messages are accepted and fail later. */
  readonly failLater?: Omit<Refusing, 'httpStatus' | 'on'>
  /** The share of messages whose first status comes before the call is answered. */
  readonly beforeAnswer?: number
  /** False: failed statuses lack `biz_opaque_callback_data`, which Meta does not promise for them. */
  readonly echoesOnFailed?: boolean
  /** Milliseconds until a delivery that was not answered with 200 is repeated; doubled each time. By default 500. */
  readonly retryMs?: number
  /** By default 7 days. */
  readonly giveUpAfterMs?: number
  /** Signs with a wrong signature. */
  readonly forgeSignature?: boolean
}

export interface CallbackTry {
  readonly url: string
  readonly body: string
  readonly signature: string
  /** Null if there was no answer. */
  readonly status: number | null
  readonly tookMs: number
  /** 1 for the first try of a delivery. */
  readonly tryNumber: number
  readonly at: number
}
