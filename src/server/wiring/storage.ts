import type { ConnectionId, MessageId, WorkerId } from '../../core/ids.ts'
import type { BlockedRecipients } from '../../core/ports/blocked-recipients.ts'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { DeliveryWatch } from '../../core/ports/deliveries.ts'
import type { Intake } from '../../core/ports/intake.ts'
import type { Lanes } from '../../core/ports/lanes.ts'
import type { MediaQueue } from '../../core/ports/media-queue.ts'
import type { Notifications } from '../../core/ports/notifications.ts'
import type { HashRecipient } from '../../core/ports/recipients.ts'
import type { Retention } from '../../core/ports/retention.ts'
import type { KeyFacts } from '../../core/ports/secrets.ts'
import type { SessionRows } from '../../core/ports/session-store.ts'
import type { Watch } from '../../core/ports/watch.ts'
import type { Committed, StorageFigures } from '../../observability/storage-figures.ts'
import type { StorageHealth } from '../../storage/queries/storage-health.ts'

/** What an engine knows about the process that opens it. */
export interface StorageOptions {
  /** Who we are, as `nuncio workers` shows it. */
  readonly worker: {
    readonly id: WorkerId
    readonly host: string
    readonly pid: number
    readonly roles: readonly string[]
    readonly version: string
  }
  /** How many messages may wait; 0 means no limit. */
  readonly limits: { readonly maxWaitingPerConnection: number; readonly maxWaitingPerAccount: number }
  /** What can be sent, as `channel/type`. Asked once the channels are made. */
  readonly sendable: () => readonly string[]
  /** Makes the hashes of erased recipients that had asked to stop. */
  readonly hashRecipient: HashRecipient
  /** The data can no longer be trusted: this process should end and a fresh one be started. */
  readonly onBroken: (error: unknown) => void
  /** Maintenance failed; it is tried again by itself. */
  readonly onError: (error: unknown) => void
  /** After each commit of the hot paths; must be quick. */
  readonly onCommit?: (committed: Committed) => void
}

/** Changes to lanes by other processes. Notifications only cut latency: the next poll finds every change. */
export interface StorageEvents {
  /** These connections or what waits on them changed: what was loaded is out of date. */
  readonly lanesChanged: (ids: readonly ConnectionId[]) => void
  /** Another process accepted messages for these connections. */
  readonly lanesWoken: (ids: readonly ConnectionId[]) => void
}

/** What the server needs of a storage engine. Each engine satisfies it as it is. */
export interface Storage {
  readonly intake: Intake
  readonly lanes: Lanes
  readonly mediaQueue: MediaQueue
  /** Stores rare notifications, and checks for deliveries to make. */
  readonly notices: Notifications & DeliveryWatch
  /** What the watchdog reads and writes. */
  readonly watch: Watch
  readonly blocked: BlockedRecipients
  /** What deletes by age. */
  readonly retention: Retention
  /** Time as all processes on this database agree on it. */
  readonly clock: Clock
  /** How often to poll for lanes without a notification, in milliseconds. */
  readonly pollEveryMs: number
  channelState(channel: string): ChannelState
  /** What channels with sessions store, encrypted. */
  readonly sessions: SessionRows
  /** The connections of one channel that hang on a network. */
  channelConnections(channel: string): ChannelConnections
  /** See `ChannelEvents`. The lane is woken. Rejects with `StorageUnavailable`. */
  sendAgain(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null>
  /** True as long as there is no account. */
  isEmpty(): Promise<boolean>
  /** False as long as no person can sign in to the console. */
  hasPeople(): Promise<boolean>
  /** What a start must know of the secrets that are kept. */
  readKeyFacts(): Promise<KeyFacts>
  /** Begins to watch for changes by other processes, and its own maintenance. To be called once. */
  start(events: StorageEvents): Promise<void>
  /**
   * Messages were accepted here for lanes that this process does not hold. Notifies the processes that may hold them, soon
   * and many at once. Cheap: called for every such acceptance.
   */
  notifyPeers(ids: readonly ConnectionId[]): void
  /** How many living processes accept on this database, this one included if it does; never less than 1. */
  acceptingProcesses(): number
  /** Whether this process can write, as its own commits have shown. */
  readonly health: StorageHealth
  /** Whether a message could be stored right now. */
  isWritable(): Promise<boolean>
  /** How many messages wait in all lanes, as far as this process knows. */
  waiting(): number
  /** As far as this process knows; cheap. */
  figures(): StorageFigures
  /** Harmless twice. */
  close(): Promise<void>
}
