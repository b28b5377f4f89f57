import type { AccountId, ConnectionId, Instant } from '../ids.ts'
import type { Refusal } from '../refusals.ts'
import type { ConnectionChange, ConnectionView, NetworkLink } from './administration.ts'
import type { ChannelAbilities } from './channel-description.ts'
import type { ConnectionFact, TemplateView } from './channel-onboarding.ts'

/** The part of a stored connection that is needed to ask its network. */
export interface StoredConnection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  /** The sender number. */
  readonly number: string
  readonly channel: string
  /** Secrets sealed. */
  readonly channelSettings: Readonly<Record<string, unknown>>
  readonly link: NetworkLink | null
}

/** The part of a connection that is needed to read what its network has reported. */
type ReportingConnection = Pick<ConnectionView, 'id' | 'channel' | 'channelSettings' | 'lastReportAt'>

/** The connections of the same account that are not removed, in any order. Called only if they matter. */
export type ReadPeers = () => Promise<readonly StoredConnection[]>

/** The verified connection, to be stored now. */
export interface PreparedConnection {
  readonly id: ConnectionId
  /** Secrets sealed for this id. */
  readonly channelSettings: Readonly<Record<string, unknown>>
  /** Null where the channel has no network of its own. */
  readonly link: NetworkLink | null
  /** What the network showed; empty where there is none. */
  readonly facts: readonly ConnectionFact[]
}

export interface PreparedChange {
  readonly channelSettings: Readonly<Record<string, unknown>>
  /** Null when the connection has none. */
  readonly link: NetworkLink | null
  /** Null when the network was not asked, because nothing changed that matters to it. */
  readonly facts: readonly ConnectionFact[] | null
  /**
   * Other connections of the account that get the same new callback secret, because they share its address and the network
   * took it from each of them. They must be stored before the changed one: after an interruption the change can then be made
   * again from the start. Each is stored only if its settings are still those of its `connection`.
   */
  readonly alongside: readonly {
    readonly connection: StoredConnection
    readonly channelSettings: Readonly<Record<string, unknown>>
    readonly link: NetworkLink | null
  }[]
  /**
   * Numbers of those that share the address and keep their own callback secret: the network did not take the new one from
   * them, or did not say so in time. Callbacks signed with either are taken at the address.
   */
  readonly notChanged: readonly string[]
}

export interface CheckedConnection {
  /** What the network says now; empty where there is none. */
  readonly facts: readonly ConnectionFact[]
  /** What to store if the network says something else than what is stored; null if it says the same. */
  readonly change: ConnectionChange | null
}

/** Where a network is to send its callbacks about a connection. */
export interface CallbackAddress {
  readonly url: string
  /**
   * One sentence: why a network cannot reach it, and what to do. Null when no problem is known, or when the network has already
   * called back, which proves that it can be reached.
   */
  readonly problem: string | null
  /** When the network last called back, to within a minute. Null: never. */
  readonly lastReportAt: Instant | null
}

/**
 * Everything between what a person types about a connection and what is stored of it: checks the settings, asks the network
 * whether they work, seals secrets, and finds the address for callbacks. It stores nothing itself.
 *
 * All of it refuses with codes of core/refusals.ts: `setting_invalid` with the setting as its field,
 * `connection_not_proven` and `network_unreachable` as a `ChannelOnboarding` does; the last also when it takes too long.
 */
export interface ConnectionService {
  abilitiesOf(channel: string): ChannelAbilities
  /** Refuses with `channel_not_installed` where this machine does not have the packages of the channel. */
  requireInstalled(channel: string): Promise<void>
  /** All that is wrong with the settings of a new connection, without asking its network. */
  findFaults(channel: string, pairs: Readonly<Record<string, string>>): readonly Refusal[]
  /** `pairs` are texts as a person writes them. */
  prepareNew(
    wanted: {
      readonly accountId: AccountId
      readonly number: string
      readonly channel: string
      readonly pairs: Readonly<Record<string, string>>
    },
    others: ReadPeers,
  ): Promise<PreparedConnection>
  /** What is not in `pairs` stays as it is; an empty text removes a setting. */
  prepareChange(
    connection: StoredConnection,
    pairs: Readonly<Record<string, string>>,
    others: ReadPeers,
  ): Promise<PreparedChange>
  /** Asks the network now. */
  check(connection: StoredConnection, others: ReadPeers): Promise<CheckedConnection>
  /** What the network has reported by itself after this moment, or ever if it is null, and when it last did; empty if nothing. */
  readReported(connection: ReportingConnection, after: Instant | null): Promise<readonly ConnectionFact[]>
  /** Empty for a channel that has none. */
  listTemplates(connection: StoredConnection): Promise<readonly TemplateView[]>
  /** Null where the network needs none. */
  callbackOf(connection: Pick<ConnectionView, 'channel' | 'link' | 'lastReportAt'>): CallbackAddress | null
}
