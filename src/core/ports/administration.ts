import type { LanePolicy } from '../connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant, MessageId, TokenId, WorkerId } from '../ids.ts'
import type { EarlierMessage } from '../message/earlier-message.ts'
import type { MessageState, MessageType } from '../message/message.ts'
import type { UnresolvedFacts } from '../message/resend-facts.ts'
import type { TakenOut } from '../message/taken-out.ts'
import type { Role } from '../people/role.ts'
import type { OwnTimes, RetentionTimes } from '../retention/retention-times.ts'
import type { EndedToken, TokenEvent } from '../token/token.ts'
import type { AlarmText } from '../watchdog/alarm-text.ts'
import type { ConnectionFact, NetworkAnswer } from './channel-onboarding.ts'
import type { RetentionState } from './retention.ts'

export interface AccountView {
  readonly id: AccountId
  readonly name: string
  readonly createdAt: Instant
}

/** What ties a connection to its network. A connection of the sandbox has no such link. */
export interface NetworkLink {
  /** The network's id of the number: unique in the installation among connections that are not removed. */
  readonly networkKey: string
  /** The last part of the address for the network's callbacks; connections of an account may share it. Null without callbacks. */
  readonly callbackApp: string | null
}

/** What the network of a connection said when it was last asked. */
export interface NetworkCheck {
  readonly at: Instant
  readonly facts: readonly ConnectionFact[]
}

/** What is left out stays as it is. */
export interface ConnectionChange {
  /** Null: no name. */
  readonly name?: string | null
  readonly policy?: LanePolicy
  /** All of its settings: those that are not given here are removed. */
  readonly channelSettings?: Readonly<Record<string, unknown>>
  /**
   * The channel settings that the new ones were made from. When others are stored by now, nothing is changed: the refusal is
   * `connection_changed`. A caller that asks a network in between must give them: otherwise it could undo a change made
   * meanwhile, and bring back a leaked secret that had just been replaced.
   */
  readonly expected?: Readonly<Record<string, unknown>>
  readonly link?: NetworkLink
}

export type ConnectionState = 'active' | 'paused' | 'removed'

export interface ConnectionView {
  readonly id: ConnectionId
  readonly number: string
  /** What people call it; null: it has no name. */
  readonly name: string | null
  /** The account's name. */
  readonly account: string
  readonly accountId: AccountId
  readonly channel: string
  readonly state: ConnectionState
  readonly waiting: number
  /** Null when nothing waits. */
  readonly oldestWaitingAt: Instant | null
  /** Why the lane stands still: a code of core/reasons.ts; null while it moves or has nothing to do. */
  readonly reason: string | null
  readonly reasonWords: string | null
  readonly reasonUntil: Instant | null
  readonly policy: LanePolicy
  /** Secrets sealed. */
  readonly channelSettings: Readonly<Record<string, unknown>>
  readonly link: NetworkLink | null
  /** When its network last called back about it, to within a minute. Null: never, or it does not call back. */
  readonly lastReportAt: Instant | null
}

export interface TokenView {
  readonly id: TokenId
  readonly accountId: AccountId
  readonly account: string
  readonly name: string
  /** The first 8 characters after `nco_`. */
  readonly prefix: string
  readonly events: readonly TokenEvent[]
  readonly expiresAt: Instant
  readonly lastUsedAt: Instant | null
  readonly deletedAt: Instant | null
}

export interface MessageView {
  readonly id: MessageId
  /** The account's name. */
  readonly account: string
  /** The number of its connection. */
  readonly connection: string
  readonly to: string
  readonly type: MessageType
  readonly state: MessageState
  readonly reason: string | null
  readonly attempts: number
  readonly acceptedAt: Instant
  readonly publishedAt: Instant | null
}

/** One entry in the timeline of a message. `kind` is one of core/message/timeline.ts. */
export interface TimelineEntry {
  readonly at: Instant
  readonly kind: string
  /** A code of core/reasons.ts, where one applies. */
  readonly code: string | null
  /** The network's or the host's own words. */
  readonly words: string | null
  /** Further facts, by name. */
  readonly facts: Readonly<Record<string, string | number | null>>
}

/** What a person did, and when. */
interface Act {
  /** As in the audit log. */
  readonly by: string
  readonly at: Instant
}

export interface MessageTimeline {
  readonly message: MessageView
  /** When all of it was read. */
  readonly asOf: Instant
  readonly channel: string
  readonly policy: LanePolicy
  /** While it waits: how often it has failed since it was accepted. Null: it does not wait, or for nothing of its own. */
  readonly tries: number | null
  /** Who paused its connection; null while it is not paused, or when that is not known. */
  readonly paused: Act | null
  /** Who removed its connection. */
  readonly removed: Act | null
  /** Who put its recipient on the account's block list. Null: it is not blocked, or the message was certainly sent. */
  readonly block: (Act & { readonly why: string | null }) | null
  readonly reasonWords: string | null
  readonly requestId: string | null
  readonly tokenName: string | null
  /** Where it stands in its lane: 1 is the head; null when it no longer waits. */
  readonly position: number | null
  /** The deferred message to the same recipient that it waits for; null when there is none, or its own reason says more. */
  readonly waitsFor: EarlierMessage | null
  /** Why the lane stands still; null while it moves. */
  readonly laneWait: { readonly reason: string; readonly words: string | null; readonly until: Instant | null } | null
  /** The alarm that its network has reported nothing about this message or later ones. Null: nothing is missing. */
  readonly reportsMissing: Pick<AlarmText, 'cause' | 'nextStep' | 'command'> | null
  readonly connectionState: ConnectionState
  readonly expiresAt: Instant | null
  /** When its content was deleted after its retention time; null while it exists. */
  readonly bodyDeletedAt: Instant | null
  readonly resendOf: MessageId | null
  /** The message that it repeats was taken by the network after all, so this one would arrive as a duplicate. */
  readonly repeatsWhatLeft: boolean
  readonly resentAs: MessageId | null
  /** The message that repeats it, and who sent that; null when there is none. */
  readonly resent: {
    readonly id: MessageId
    readonly state: MessageState
    readonly reason: string | null
    readonly words: string | null
    readonly by: string | null
  } | null
  /** Its connection was removed, and a new one with the same number exists: the message can be sent again there. */
  readonly hasSuccessor: boolean
  readonly timeline: readonly TimelineEntry[]
}

export interface NewToken {
  readonly accountId: AccountId
  readonly name: string
  readonly events: readonly TokenEvent[]
  readonly expiresAt: Instant
  readonly connectionIds: readonly ConnectionId[] | null
  readonly sourceRanges: readonly string[] | null
  readonly sha256: Buffer
  readonly prefix: string
}

/** A person who is signed in, or tries to be, and where they are. */
export interface PersonActor {
  /** Their e-mail. */
  readonly name: string
  readonly personId: string | null
  readonly remoteAddress: string | null
  readonly userAgent: string | null
  /** The right by which they change something. Null: they are not signed in, and their link or code gives the right. */
  readonly right: PersonRight | null
}

/** Every change checks it again in its own transaction: it may have ended since the request was admitted. */
export interface PersonRight {
  readonly sessionId: string
  /** The account in which the change is made, and the lowest role that may make it. Null: it concerns the person alone. */
  readonly membership: { readonly accountId: AccountId; readonly least: Role } | null
}

/** Who did something, for the audit log: `cli`, `first start`, or a person. */
export type Actor = string | PersonActor

/** The actor of what the first start makes in an empty database. */
export const FIRST_START_ACTOR = 'first start'

export interface MessageFilter {
  readonly accountId: AccountId | null
  readonly connectionId: ConnectionId | null
  readonly state: MessageState | null
  /** Newest first; null means all. */
  readonly limit: number | null
}

type RequestOutcome = 'accepted' | 'repeated' | 'refused'

/** One error of a refused request, as its caller got it. */
export interface RequestError {
  /** A path in the body or the name of a header; null when it is the whole request. */
  readonly field: string | null
  readonly code: string
  readonly message: string
}

/**
 * Refused requests with the same token and reason that are counted instead of listed, because the account had too many
 * refusals. They came between `since` and the `receivedAt` of the entry.
 */
export interface SummedView {
  readonly requests: number
  readonly since: Instant
}

/** An entry of the API log: a request that carried a known token, and what became of it; or a sum of such requests. */
export interface RequestView {
  /** A sum has one of its own, which no caller got. */
  readonly requestId: string
  /** The account's name. */
  readonly account: string
  readonly token: string | null
  readonly receivedAt: Instant
  readonly status: number
  /** HC-… */
  readonly code: string
  readonly outcome: RequestOutcome
  readonly errors: readonly RequestError[]
  /** The message it made, or asked for again; null when it was refused. */
  readonly messageId: MessageId | null
  /** The current state of that message. */
  readonly state: MessageState | null
  /** The sender number. When refused: this, `to` and `type` are what the caller wrote, right or wrong; null when illegible. */
  readonly connection: string | null
  readonly to: string | null
  readonly type: string | null
  readonly remoteAddress: string | null
  readonly userAgent: string | null
  /** Null while the duration of its commit is unknown, and for a sum. */
  readonly tookMs: number | null
  /** Null: it is one request. For a sum each other field holds the value that all requests share, or nothing if they differ. */
  readonly summed: SummedView | null
}

export interface RequestTimeline extends RequestView {
  /** Why its token was no longer valid when the request came; null if it was valid, or if that is not known. */
  readonly endedToken: EndedToken | null
  /** As it came; null when it was not read, is no text, or was deleted. */
  readonly body: string | null
  /** When its body was deleted after its retention time. */
  readonly bodyDeletedAt: Instant | null
}

/** A null filters nothing. */
export interface RequestFilter {
  readonly accountId: AccountId | null
  readonly tokenIds: readonly TokenId[] | null
  /** The sender number, also one that is no connection: such requests were refused. */
  readonly connection: string | null
  /** Both ends belong to it. */
  readonly statuses: { readonly from: number; readonly to: number } | null
  readonly limit: number | null
}

/** A process that serves the database, or did so until lately. */
export interface WorkerView {
  readonly id: WorkerId
  /** False: its lease has expired, and other workers may claim its lanes. */
  readonly isAlive: boolean
  readonly host: string | null
  readonly pid: number | null
  /** `api`, `dispatch`, `console`; of a newer version perhaps others. */
  readonly roles: readonly string[]
  readonly version: string | null
  readonly startedAt: Instant | null
  readonly lastHeartbeatAt: Instant
  /** How many lanes it holds, and in how many of them something waits. */
  readonly lanes: number
  readonly busyLanes: number
}

/** Why nothing is sent on any lane until a person releases them (G12). */
export interface HoldView {
  readonly since: Instant
  readonly reason: string
}

/** A lane that a worker holds, alive or not. */
export interface HeldLaneView {
  /** The number of its connection. */
  readonly connection: string
  /** The account's name. */
  readonly account: string
  readonly worker: WorkerId
  /** False: the worker is gone, and another will take the lane. */
  readonly isHolderAlive: boolean
  readonly waiting: number
}

/**
 * What people do and read through the CLI and the console. Each change is one transaction that also
 * writes the audit log; a running service notices it at once. Refuses with codes of core/refusals.ts.
 */
export interface Administration {
  createAccount(name: string, actor: Actor): Promise<AccountView>
  listAccounts(): Promise<readonly AccountView[]>

  /** Refuses with `network_key_taken` when any account has a connection with the same link. */
  addConnection(
    wanted: {
      /** Given by a caller that has sealed secrets for this id; otherwise a new id is made. */
      id?: ConnectionId
      accountId: AccountId
      number: string
      channel: string
      policy: LanePolicy
      channelSettings: Record<string, unknown>
      link?: NetworkLink | null
    },
    actor: Actor,
  ): Promise<ConnectionView>
  /** Without removed ones. */
  listConnections(accountId: AccountId | null): Promise<readonly ConnectionView[]>
  /** Refuses with `connection_unknown` or, over several accounts, `connection_ambiguous`. Never a removed one. */
  findConnection(number: string, accountId: AccountId | null): Promise<ConnectionView>
  setConnectionState(id: ConnectionId, state: 'active' | 'paused', actor: Actor): Promise<ConnectionView>
  /** What is left out stays as it is. Refuses as `addConnection` does, and with `connection_changed`. */
  changeConnection(id: ConnectionId, change: ConnectionChange, actor: Actor): Promise<ConnectionView>
  /** Stores what its network has just answered. Without facts it removes the last answer. */
  noteCheck(id: ConnectionId, answer: NetworkAnswer, actor: Actor): Promise<void>
  /** Deletes its secrets. `cancelWaiting`: waiting messages are cancelled; otherwise this refuses if there are any. An open attempt may finish. */
  removeConnection(id: ConnectionId, cancelWaiting: boolean, actor: Actor): Promise<TakenOut>

  createToken(token: NewToken, actor: Actor): Promise<TokenView>
  /** Deleted ones too, newest first. */
  listTokens(accountId: AccountId | null): Promise<readonly TokenView[]>
  /** `which` is an id, a prefix or a name that fits exactly one token that is not deleted. */
  deleteToken(which: string, accountId: AccountId | null, actor: Actor): Promise<TokenView>

  /** Newest first. Streams, so that millions fit. */
  listMessages(filter: MessageFilter): AsyncIterable<MessageView>
  explainMessage(id: MessageId): Promise<MessageTimeline>
  cancelMessage(id: MessageId, actor: Actor): Promise<MessageView>
  /** Makes a new message at the end of the lane that points to the old one, and returns it. */
  retryMessage(id: MessageId, actor: Actor): Promise<MessageView>
  /** `arrived`: PUBLISHED, on a person's word. `send-again`: a new message, returned. */
  resolveMessage(id: MessageId, as: 'arrived' | 'send-again', actor: Actor): Promise<MessageView>

  /** UNCONFIRMED messages that are not resolved, oldest first. */
  listUnresolved(accountId: AccountId | null): Promise<readonly (MessageView & UnresolvedFacts)[]>

  /** The API log, newest first, as it was when the reading began. Streams, so that millions fit. */
  listRequests(filter: RequestFilter): AsyncIterable<RequestView>
  /** Refuses with `request_unknown`, also for a request of another account. An old one takes long to find: there is no index. */
  findRequest(requestId: string, accountId: AccountId | null): Promise<RequestTimeline>

  /** The retention times that an account has chosen for itself, shorter than those of the installation. */
  readOwnTimes(accountId: AccountId): Promise<OwnTimes>
  /** Refuses with `argument_invalid` times that are longer than those of the installation, or contradict each other. */
  setOwnTimes(
    wanted: { readonly accountId: AccountId; readonly own: OwnTimes; readonly installation: RetentionTimes },
    actor: Actor,
  ): Promise<OwnTimes>
  /** The retention job: when it last deleted, and from when on it may delete. */
  readSweep(): Promise<RetentionState>
  /** Ends the wait after a copy or a long pause. */
  beginRetention(actor: Actor): Promise<void>

  /** Null while lanes may move. */
  readHold(): Promise<HoldView | null>
  /** Starts nothing more on any lane until `releaseHold`. Open attempts are finished. Refuses with `lanes_held_already`. */
  holdLanes(reason: string, actor: Actor): Promise<HoldView>
  /** Lets all lanes move again. Refuses with `lanes_not_held`. */
  releaseHold(actor: Actor): Promise<HoldView>

  /** The living first, each in the order in which they started. */
  listWorkers(): Promise<readonly WorkerView[]>
  /** Also of removed connections, as long as a worker holds their lane. Ordered by number. */
  listHeldLanes(): Promise<readonly HeldLaneView[]>
}
