import type { AccountId, ConnectionId, Instant, MessageId } from '../../ids.ts'
import type { MessageState, MessageType } from '../../message/message.ts'
import type { Actor, ConnectionState } from '../administration.ts'

interface SandboxView {
  readonly id: ConnectionId
  readonly number: string
  readonly name: string | null
  readonly state: ConnectionState
  /** When its newest delivery came; null: it has none. */
  readonly lastAt: Instant | null
}

/** A connection, and the account that asks. A connection of another account is treated as if it did not exist. */
export interface OwnConnection {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
}

/** Before this cursor, as an earlier page gave it; null begins at the newest. */
export interface WantedPage {
  readonly before: number | null
  readonly limit: number
}

/** `find`: digits of a number, or a part of a text, a caption or the name of a file. Null: all. */
export interface WantedChats extends WantedPage {
  readonly find: string | null
}

export interface ChatView {
  readonly to: string
  readonly lastType: MessageType
  /** The text, the caption or the name of the file, cut short. */
  readonly lastText: string
  readonly lastAt: Instant
  /** Among the deliveries that were scanned. */
  readonly count: number
}

export interface ChatPage {
  readonly items: readonly ChatView[]
  readonly next: number | null
  /** How many of the newest deliveries were scanned, and whether these are all. */
  readonly scanned: number
  readonly isAll: boolean
}

export interface DeliveredMedia {
  readonly name: string
  readonly caption: string | null
  readonly sizeBytes: number | null
  readonly mime: string | null
  readonly sha256: string | null
  /** False: no copy was kept. True: there was one, but it may have been deleted, or lie on another machine. */
  readonly isCopied: boolean
}

/** What a recipient got by one attempt. */
export interface DeliveryView {
  /** Unique in its connection's inbox. */
  readonly key: string
  readonly messageId: MessageId
  readonly attempt: number
  readonly at: Instant
  readonly type: MessageType
  readonly text: string | null
  readonly media: DeliveredMedia | null
  /** The current state of its message; null when the message is no longer kept. */
  readonly state: MessageState | null
  readonly requestId: string | null
}

export interface ThreadPage {
  /** The oldest of this page first. */
  readonly items: readonly DeliveryView[]
  /** The cursor of the page before; null: nothing was delivered before these. */
  readonly next: number | null
}

/** A part of the inbox that was cleared. */
export interface ClearedPage {
  readonly count: number
  /** Messages whose files were copied. */
  readonly copies: readonly MessageId[]
  /** Older deliveries are before this cursor; null: there are none. */
  readonly next: number | null
}

export interface DeliveryTimeline extends DeliveryView {
  /** The sender number. */
  readonly connection: string
  readonly to: string
  /** The request's body as it came; null when it is no longer kept. */
  readonly body: string | null
  readonly acceptedAt: Instant | null
  readonly publishedAt: Instant | null
  readonly deliveredAt: Instant | null
  readonly readAt: Instant | null
}

/**
 * The messages that the sandbox delivered. A connection of another account or channel does not exist here. Each page
 * reads a bounded part of the inbox, however large it is.
 */
export interface InboxViews {
  /** Sandbox connections in order of their numbers; removed ones too, behind the others. */
  listSandboxes(accountId: AccountId): Promise<readonly SandboxView[]>
  /** Recipients of the newest deliveries, or of those that match, the latest first. Null: no such connection. */
  listChats(of: OwnConnection, page: WantedChats): Promise<ChatPage | null>
  /**
   * What one recipient got, the newest page first and each page in order of delivery. A page with `next` may be short or
   * empty: then the scanned part held nothing for it. Null: no such connection.
   */
  readConversation(of: OwnConnection, to: string, page: WantedPage): Promise<ThreadPage | null>
  /**
   * The unread ones among the newest five hundred deliveries to this recipient. The audit log notes that a person read them.
   * Null: no such connection.
   */
  readUnread(of: OwnConnection, to: string, actor: Actor): Promise<readonly DeliveryView[] | null>
  /**
   * Deletes the deliveries of a page, which the audit log notes, except those of messages that have not ended or are unconfirmed.
   * Null: no such connection.
   */
  clear(of: OwnConnection, page: WantedPage, actor: Actor): Promise<ClearedPage | null>
  /** Null: no such delivery. */
  explainDelivery(of: OwnConnection, key: string): Promise<DeliveryTimeline | null>
  /** The file that was delivered with a message; null: none was. */
  findMedia(of: OwnConnection, messageId: MessageId): Promise<DeliveredMedia | null>
}
