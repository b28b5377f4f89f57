/** What `startSimulator` of simulator.ts returns. */
export interface Simulator {
  /** Base URL without a slash at the end: what NUNCIO_WHATSAPP_CLOUD_URL names. */
  readonly url: string
  /** Ends every connection, also those that hang, and stops calling back. Harmless twice. */
  close(): Promise<void>

  addNumber(number: SimulatedNumber): void
  /** Such as another access token, a quality, a number that is gone. */
  changeNumber(phoneNumberId: string, change: Partial<SimulatedNumber>): void
  addTemplate(businessAccountId: string, template: SimulatedTemplate): void

  /** What phones got, in the order in which the network took it. */
  readonly sent: readonly SentMessage[]
  /** What was uploaded, the oldest first; deleted and expired ones too. */
  readonly uploads: readonly Upload[]
  /** Every call, also the refused and the dropped ones. */
  readonly requests: readonly SeenRequest[]
  /** How many calls of this kind have come and are not answered yet. */
  underWay(kind: RequestKind): number

  /** All windows are open until they are closed. */
  openWindow(to: string): void
  /** `by-callback`: the call is answered with 200, and 131047 comes as a failed status. */
  closeWindow(to: string, reported?: 'at-once' | 'by-callback'): void

  /** Refuses with this code of the published table, in Meta's words. */
  fail(refusal: Refusing): void
  /** Ends the connection after the message was taken, before a byte of the answer. */
  dropAfterActing(share: FaultShare): void
  /** Ends the connection once the request is there, before anything is done with it. */
  dropBefore(share: FaultShare): void
  /** Any of the faults. They are tried in the order in which they were set. */
  fault(kind: FaultKind, share: FaultShare): void
  /** Forgets all faults and refusals; windows stay as they are. */
  healAll(): void

  /** From now on, for messages that are taken from now on. Replaces an earlier plan for the same numbers. */
  deliverCallbacks(plan: CallbackPlan): void
  /** Resolves when no callback waits for its delivery any more, by giving up too. */
  callbacksIdle(): Promise<void>
  /** Asks the address as Meta does when a person enters it: true when it gave the challenge back. */
  verifyCallback(phoneNumberId: string, url: string): Promise<boolean>
  /** The same, with the status that was answered. Rejects without an answer. */
  challenge(phoneNumberId: string, url: string): Promise<{ readonly isRight: boolean; readonly status: number }>
  /** Every delivery that was tried, with its answer. */
  readonly callbackTries: readonly CallbackTry[]
  /** A message of a person to the number: opens the window and calls back. Resolves with its wamid. */
  receive(inbound: { readonly phoneNumberId: string; readonly from: string; readonly text: string }): string
  /** Calls back with a change of this field, such as phone_number_quality_update, of the number's business account. */
  announce(phoneNumberId: string, field: string, value: Readonly<Record<string, unknown>>): void
}

export interface SimulatorOptions {
  /** 0, which is the default: any free one. */
  readonly port?: number
  readonly host?: string
  /** Milliseconds since 1970: windows, media ids and rates go by it. The wall clock by default. */
  readonly now?: () => number
  /** Draws shares, delays and orders. */
  readonly seed?: number
  /** Milliseconds before every answer. 0 by default. */
  readonly latencyMs?: number
  /** Called for each call when it has ended, whatever became of it. */
  readonly onRequest?: (request: SeenRequest) => void
  readonly onCallback?: (tried: CallbackTry) => void
}

export interface SimulatedNumber {
  readonly phoneNumberId: string
  readonly businessAccountId: string
  /** The sender number, digits with country code. */
  readonly number: string
  readonly accessToken: string
  readonly appSecret: string
  readonly verifyToken: string
  /** 80 by default. */
  readonly throughputPerSecond?: number
  /** `Nuncio Test` by default. */
  readonly verifiedName?: string
  /** GREEN by default. */
  readonly quality?: 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN'
  /** CONNECTED by default; others refuse with 133010. */
  readonly status?: 'CONNECTED' | 'DISCONNECTED' | 'FLAGGED' | 'RESTRICTED' | 'PENDING'
  /** True: as if the number had been deleted. */
  readonly isGone?: boolean
}

export interface SimulatedTemplate {
  readonly name: string
  /** Such as en_US. */
  readonly language: string
  /** With {{1}}, {{2}}… for its parameters. */
  readonly body: string
  /** APPROVED by default. */
  readonly status?: 'APPROVED' | 'PENDING' | 'REJECTED' | 'PAUSED' | 'DISABLED'
  /** UTILITY by default. */
  readonly category?: 'UTILITY' | 'MARKETING' | 'AUTHENTICATION'
  /** No header by default. */
  readonly header?: 'TEXT' | 'IMAGE' | 'DOCUMENT' | 'VIDEO' | 'LOCATION'
  /** For a header of kind TEXT. */
  readonly headerText?: string
  readonly footer?: string
  /** Parameters with names, {{name}}, in place of numbers. */
  readonly hasNamedParameters?: boolean
}

export interface SentMessage {
  readonly wamid: string
  readonly phoneNumberId: string
  /** The sender number. */
  readonly from: string
  /** As it was given. */
  readonly to: string
  /** Digits only. */
  readonly waId: string
  readonly type: 'text' | 'image' | 'document' | 'video' | 'audio' | 'template'
  /** The whole request body. */
  readonly body: Readonly<Record<string, unknown>>
  /** The body as it came over the wire. */
  readonly raw: string
  /** What the phone shows as text: a text, a caption, or a template with its parameters put in; null for none. */
  readonly text: string | null
  /** What the phone can open; null for none. */
  readonly media: SentMedia | null
  /** biz_opaque_callback_data; null without. */
  readonly opaque: string | null
  readonly at: number
}

export interface SentMedia {
  /** Null when it was named by a link. */
  readonly upload: Upload | null
  readonly link: string | null
  /** Only of documents. */
  readonly filename: string | null
  readonly isVoice: boolean
}

export interface Upload {
  readonly id: string
  readonly phoneNumberId: string
  readonly mime: string
  readonly filename: string
  readonly bytes: Buffer
  /** Hexadecimal. */
  readonly sha256: string
  readonly at: number
}

export interface SeenRequest {
  readonly method: string
  /** With its query, without what is secret. */
  readonly path: string
  readonly kind: RequestKind
  /** Digits of `to`; null where there is none. */
  readonly waId: string | null
  /** HTTP status of the answer; null when there was none. */
  readonly status: number | null
  /** Of the error; null without one. */
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

/** Which calls: all of the named kind and recipient, as often as `times` says, and each with the chance of `rate`. */
export interface FaultShare {
  /** Any by default. Only calls that send have one. */
  readonly to?: string
  /** `messages` by default. */
  readonly on?: RequestKind
  /** Without end by default. */
  readonly times?: number
  /** From 0 to 1, by the seed. 1 by default. */
  readonly rate?: number
  /** For `slow`: 3,000 by default. */
  readonly delayMs?: number
}

export interface Refusing extends FaultShare {
  readonly code: number
  /** What Meta's table says for the code, by default. */
  readonly httpStatus?: number
  /** `error_data.details`. */
  readonly details?: string
}

export type CallbackStatus = 'sent' | 'delivered' | 'read' | 'played'

export interface CallbackPlan {
  readonly url: string
  /** Only for these numbers; for all of them by default. */
  readonly phoneNumberIds?: readonly string[]
  /** In this order; sent, delivered and read by default. */
  readonly statuses?: readonly CallbackStatus[]
  /** Milliseconds between them, or from the least to the most. 0 by default. */
  readonly delayMs?: number | readonly [least: number, most: number]
  /** Share of deliveries that come again, up to two more times. */
  readonly repeat?: number
  /** Delays that are drawn anew for each, so that `read` may overtake `sent`. */
  readonly shuffle?: boolean
  /** Share of statuses that never come. */
  readonly lose?: number
  /** Most statuses in one body. 1 by default. */
  readonly batch?: number
  /** Messages that are taken and fail later. */
  readonly failLater?: Omit<Refusing, 'httpStatus' | 'on'>
  /** Share of messages whose first status comes before the call is answered. */
  readonly beforeAnswer?: number
  /** False: `biz_opaque_callback_data` is left out of failed statuses, as Meta does not promise it there. */
  readonly echoesOnFailed?: boolean
  /** Milliseconds until a delivery that was not answered with 200 comes again; doubled each time. 500 by default. */
  readonly retryMs?: number
  /** 7 days by default. */
  readonly giveUpAfterMs?: number
  /** With a wrong signature. */
  readonly forgeSignature?: boolean
}

export interface CallbackTry {
  readonly url: string
  readonly body: string
  readonly signature: string
  /** Null when there was no answer. */
  readonly status: number | null
  readonly tookMs: number
  /** 1 for the first try of a delivery. */
  readonly tryNumber: number
  readonly at: number
}
