import type { AccountId, ConnectionId, Instant, MessageId } from '../ids.ts'
import type { TryCode } from '../notifications/delivery-try-codes.ts'
import type { BrokenPromise } from '../reasons/bridge.ts'
import type { AlarmKind, AlarmSeverity } from '../watchdog/alarm-kinds.ts'
import type { Receipt, ReceiptEnd } from './channel.ts'
import type { Removed } from './retention.ts'

/** What a request to an adapter is about. */
export type BridgeOperation = 'attempt' | 'evidence' | 'media' | 'health'

/** Events about the callbacks of a network. Every text in them comes from a fixed list. */
export type CallbackEvent =
  /** One request: `stored` so that nothing of it can be lost, or why it was turned away. */
  | {
      readonly event: 'callback.received'
      readonly channel: string
      readonly outcome: 'stored' | 'nothing-of-ours' | 'verified' | 'forged' | 'app-unknown' | 'not-json' | 'not-stored'
      readonly tookMs: number
    }
  /** The result of one report about a message. */
  | {
      readonly event: 'callback.applied'
      readonly channel: string
      readonly kind: Receipt['kind']
      readonly end: Exclude<ReceiptEnd, 'too-early'> | 'given-up'
    }
  /** Parts of a request that say nothing to us; `reason` from a fixed list. */
  | {
      readonly event: 'callback.ignored'
      readonly channel: string
      readonly reason: string
      readonly count: number
    }

/**
 * Events of dispatching, for the log, the metrics, and for tests that wait for them. There is no field for texts, phone
 * numbers or tokens, so none can leak into a log.
 */
export type JournalEvent =
  | {
      readonly event: 'attempt.finished'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly channel: string
      readonly number: number
      readonly outcome: 'accepted' | 'rejected' | 'unknown'
      readonly code: string | null
      readonly startedAt: Instant
      readonly tookMs: number
      /** From the acceptance of the message until this attempt, in milliseconds. */
      readonly waitedMs: number
      /** The new state of the message; `QUEUED` when it is tried again. */
      readonly next: string
    }
  | {
      readonly event: 'attempt.recovered'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly crashes: number
    }
  | {
      readonly event: 'message.dropped'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly as: string
      readonly reason: string
    }
  /** It waits for something of its own; `until` null when the end is not known. */
  | {
      readonly event: 'message.deferred'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly reason: string
      readonly until: number | null
    }
  | {
      readonly event: 'lane.waiting'
      readonly connectionId: ConnectionId
      readonly reason: string
      readonly until: number | null
    }
  | { readonly event: 'lane.claimed'; readonly connectionId: ConnectionId; readonly epoch: number }
  | { readonly event: 'lane.lost'; readonly connectionId: ConnectionId; readonly epoch: number }
  | { readonly event: 'claim.expired' }
  | { readonly event: 'messages.expired'; readonly count: number }
  | {
      readonly event: 'media.fetched'
      readonly messageId: MessageId
      /** Which try it was, counted from 1. */
      readonly number: number
      readonly sizeBytes: number
      readonly tookMs: number
    }
  | {
      readonly event: 'media.failed'
      readonly messageId: MessageId
      readonly number: number
      readonly code: string
      readonly tookMs: number
      readonly final: boolean
    }
  /** A preparation ended: `cut` when it was aborted. */
  | {
      readonly event: 'message.prepared'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly channel: string
      readonly outcome: 'ready' | 'failed' | 'cut'
      readonly code: string | null
      readonly tookMs: number
    }
  | { readonly event: 'media.stalled'; readonly error: unknown }
  /** Files are missing from the spool, of messages in this many lanes. They are fetched again. */
  | { readonly event: 'media.lost'; readonly connections: number }
  | CallbackEvent
  /** The network refused a message with a code that this version does not know; how it was handled is the outcome. */
  | {
      readonly event: 'network.code_unknown'
      readonly channel: string
      readonly connectionId: ConnectionId
      readonly messageId: MessageId
      readonly code: number
      /** The HTTP status of the reply. */
      readonly status: number
    }
  /** One request to an adapter. Only what is `signed` was answered by it. */
  | {
      readonly event: 'bridge.called'
      readonly operation: BridgeOperation
      readonly result: 'signed' | 'unsigned' | 'broken' | 'not-sent'
      readonly tookMs: number
    }
  | {
      readonly event: 'bridge.promise_broken'
      readonly promise: BrokenPromise
      readonly connectionId: ConnectionId
      readonly messageId: MessageId
      readonly number: number
    }
  /** The network refused a message of a session with this code. */
  | {
      readonly event: 'network.refused'
      readonly channel: string
      readonly connectionId: ConnectionId
      readonly messageId: MessageId
      readonly code: string
    }
  /**
   * The session of a connection with its network has a new status; `closed` when this process no longer has it. `code`: the
   * network's own, when it ended a line; null when there was none.
   */
  | {
      readonly event: 'session.changed'
      readonly channel: string
      readonly connectionId: ConnectionId
      readonly status: string
      readonly code: number | null
    }
  /**
   * The connection was removed, but its device could not log in to be unlinked, or WhatsApp did not answer: the phone may list
   * it for ever. `status`: what kept it from that; `unanswered`: the device was logged in, but WhatsApp did not confirm it.
   */
  | {
      readonly event: 'session.unlink_failed'
      readonly channel: string
      readonly connectionId: ConnectionId
      readonly status: string
    }
  /** The thread in which a channel runs ended by itself, and all its sessions with it. They are opened again. */
  | { readonly event: 'channel.thread_ended'; readonly channel: string }
  /** `object`: the id of what it is about; of a disk, its machine and folder. */
  | {
      readonly event: 'alarm.raised' | 'alarm.cleared'
      readonly kind: AlarmKind
      readonly severity: AlarmSeverity
      readonly object: string
    }
  /** One try to post a notification. */
  | {
      readonly event: 'delivery.tried'
      readonly webhookId: string
      readonly position: number
      readonly number: number
      readonly code: TryCode
      readonly status: number | null
      readonly tookMs: number
    }
  /** This many deliveries were given up because too many waited for their webhook. */
  | { readonly event: 'deliveries.dropped'; readonly count: number }
  | {
      readonly event: 'webhook.disabled'
      readonly accountId: AccountId
      readonly webhookId: string
      readonly code: 'failing_for_days' | 'gone'
    }
  /** A sweep has come to its end, with what it deleted by kind. */
  | {
      readonly event: 'retention.swept'
      readonly endedAt: Instant
      readonly tookMs: number
      readonly removed: Removed
    }
  /** Nothing is deleted before `until`. */
  | { readonly event: 'retention.waiting'; readonly why: 'copy' | 'pause'; readonly until: Instant }
  | { readonly event: 'storage.unavailable'; readonly error: unknown }
  | { readonly event: 'fault'; readonly where: string; readonly error: unknown }

/** Logs and counts what happens. Never throws because of an event. */
export interface Journal {
  record(event: JournalEvent): void
}
