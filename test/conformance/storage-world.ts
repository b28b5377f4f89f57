import { DEFAULT_LANE_POLICY, type LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId, SpoolId, TokenId, WorkerId } from '../../src/core/ids.ts'
import type { MessageContent, QueuedMessage, Sequence } from '../../src/core/message/message.ts'
import type { Administration } from '../../src/core/ports/administration.ts'
import type { BlockedRecipients } from '../../src/core/ports/blocked-recipients.ts'
import type { Receipt } from '../../src/core/ports/channel.ts'
import type { ChannelConnections } from '../../src/core/ports/channel-connections.ts'
import type { ChannelState } from '../../src/core/ports/channel-state.ts'
import type { DeliveryWatch } from '../../src/core/ports/deliveries.ts'
import type { Candidate, Intake } from '../../src/core/ports/intake.ts'
import type {
  AttemptRecord,
  ClaimedLane,
  Lanes,
  LaneTransition,
  LaneTransitionResult,
} from '../../src/core/ports/lanes.ts'
import type { MediaQueue } from '../../src/core/ports/media-queue.ts'
import type { Notifications } from '../../src/core/ports/notifications.ts'
import type { BlockLists } from '../../src/core/ports/recipients.ts'
import type { Retention } from '../../src/core/ports/retention.ts'
import type { SessionRows } from '../../src/core/ports/session-store.ts'
import type { Watch } from '../../src/core/ports/watch.ts'
import type { Store } from '../../src/storage/queries/store.ts'
import type { HandClock } from './hand-clock.ts'

/** One engine with an empty database, and what a suite needs around it. */
export interface StorageWorld {
  readonly intake: Intake
  readonly lanes: Lanes
  /** The queue of ANNA. */
  readonly mediaQueue: MediaQueue
  readonly notices: Notifications & DeliveryWatch
  readonly watch: Watch
  readonly blocked: BlockedRecipients
  readonly retention: Retention
  readonly sessions: SessionRows
  /** One more process that dispatches on the same database. Absent if one process serves it alone. */
  processOf?(worker: WorkerId, spool: SpoolId): DispatchingProcess
  channelState(channel: string): ChannelState
  channelConnections(channel: string): ChannelConnections
  /** See `ChannelEvents`. */
  sendAgain(failed: { connectionId: ConnectionId; messageId: MessageId; reason: string }): Promise<MessageId | null>
  /** Another process on the same database. */
  readonly administration: Administration
  /** The same, as the parts of the console use it. */
  readonly store: Store
  readonly blockLists: BlockLists
  /** Creates the partition of the current day if storage has one for each day. The service does this by itself. */
  openDay(): Promise<void>
  /** Runs SQL without our code, with the names of tables that both engines have. */
  sql(text: string): Promise<readonly Record<string, unknown>[]>
  /** The audit entries of a message, the oldest first. */
  auditOf(id: MessageId): Promise<readonly { readonly actor: string; readonly action: string }[]>
  readonly clock: HandClock
  /** How old answers may be that the engine gives without querying the database. 0: they are always current. */
  readonly hintsAgeMs: number
  /** Nothing more fits on the disk until the returned function is called. */
  fillDisk(): Promise<() => Promise<void>>
  /** The next commit fails in such a way that it is unknown what it wrote. */
  breakCommits(): Promise<void>
  close(): Promise<void>
}

/** What one process uses for dispatching. Its spool decides which files it has. */
export interface DispatchingProcess {
  readonly lanes: Lanes
  readonly mediaQueue: MediaQueue
}

export interface WorldOptions {
  /** 0: no limit. */
  readonly maxWaitingPerConnection?: number
  readonly maxWaitingPerAccount?: number
}

export type NewWorld = (options?: WorldOptions) => Promise<StorageWorld>

/** The functions with which a suite is written: the test runner's, or those of a collector that runs it elsewhere. */
export interface Suite {
  readonly it: (name: string, prove: () => Promise<void>) => void
}

export const ANNA = 'anna' as WorkerId
export const BEN = 'ben' as WorkerId
export const SENDER = '15550001000'
export const RECIPIENT = '15550100000'

export interface Sender {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly tokenId: TokenId
  readonly sha256: Buffer
  readonly number: string
}

let made = 0

/** An account with one connection and one token. */
export async function addSender(
  world: StorageWorld,
  given: { number?: string; policy?: Partial<LanePolicy>; tokenLastsDays?: number } = {},
): Promise<Sender> {
  made += 1
  const { administration } = world
  const number = given.number ?? SENDER
  const account = await administration.createAccount(`Account ${made}`, 'test')
  const connectionId = await addConnection(world, account.id, { number, ...given })
  const sha256 = Buffer.alloc(32)
  sha256.writeUInt32BE(made)
  const token = await administration.createToken(
    {
      accountId: account.id,
      name: 'token',
      events: ['messaging.send_message'],
      expiresAt: world.clock.now() + (given.tokenLastsDays ?? 30) * 24 * 3_600_000,
      connectionIds: null,
      sourceRanges: null,
      sha256,
      prefix: 'AbCdEfGh',
    },
    'test',
  )
  return { accountId: account.id, connectionId, tokenId: token.id, sha256, number }
}

/** Adds as many more tokens like the sender's. */
export async function multiplyTokens(
  { store: { database } }: StorageWorld,
  { tokenId }: Pick<Sender, 'tokenId'>,
  count: number,
): Promise<void> {
  const token = await database.selectFrom('token').selectAll().where('id', '=', tokenId).executeTakeFirstOrThrow()
  const copies = Array.from({ length: count }, (_, at) => {
    const sha256 = Buffer.alloc(32, 0xfe)
    sha256.writeUInt32BE(at)
    return { ...token, id: `tok_copy${at}` as TokenId, name: `token ${at}`, sha256 }
  })
  for (let from = 0; from < count; from += 200)
    await database
      .insertInto('token')
      .values(copies.slice(from, from + 200))
      .execute()
}

/** Whether a session of any connection is stored. */
export async function hasSession({ store }: StorageWorld): Promise<boolean> {
  return (await store.database.selectFrom('channel_session').select('connection_id').executeTakeFirst()) !== undefined
}

export async function addConnection(
  { administration }: StorageWorld,
  accountId: AccountId,
  { number, policy }: { number: string; policy?: Partial<LanePolicy> },
): Promise<ConnectionId> {
  const wanted = {
    accountId,
    number,
    channel: 'sandbox',
    policy: { ...DEFAULT_LANE_POLICY, ...policy },
    channelSettings: {},
  }
  return (await administration.addConnection(wanted, 'test')).id
}

export interface GivenMessage {
  readonly text?: string
  readonly media?: boolean
  /** The URL of the attachment. */
  readonly url?: string
  readonly key?: string
  readonly fingerprint?: string
  readonly to?: string
}

export function candidate(world: StorageWorld, sender: Sender, given: GivenMessage = {}): Candidate {
  const { text = 'Hello', to = RECIPIENT, url = 'https://files.example/a.png' } = given
  const content: MessageContent = given.media
    ? { type: 'image', name: 'a.png', url, caption: text }
    : { type: 'message', text }
  const message = given.media
    ? { type: 'image', media: { name: 'a.png', url, caption: text } }
    : { type: 'message', message: text }
  const { clock } = world
  return {
    facts: {
      requestId: 'request',
      receivedAt: clock.now(),
      receivedMonotonic: clock.monotonic(),
      remoteAddress: '192.0.2.1',
      userAgent: null,
    },
    tokenId: sender.tokenId,
    accountId: sender.accountId,
    from: sender.number,
    to,
    content,
    body: JSON.stringify({ from: sender.number, to, message }),
    idempotency: given.key === undefined ? null : { key: given.key, fingerprint: given.fingerprint ?? 'fingerprint' },
  }
}

export async function accept(world: StorageWorld, sender: Sender, given: GivenMessage = {}): Promise<MessageId> {
  const result = await world.intake.accept(candidate(world, sender, given))
  if (result.kind !== 'accepted') throw new Error(`a message that should have been accepted is ${result.kind}`)
  return result.messageId
}

/** Makes the worker alive and lets it claim the lane. */
export async function holdLane(
  world: StorageWorld,
  worker: WorkerId,
  connectionId: ConnectionId,
): Promise<ClaimedLane> {
  await beat(world, worker)
  const [lane] = await claim(world, worker, [connectionId])
  if (!lane) throw new Error('the lane could not be claimed')
  return lane
}

/** Renews the worker's lease. Returns the living workers. */
export function beat({ lanes }: StorageWorld, worker: WorkerId, forMs = 15_000): Promise<readonly WorkerId[]> {
  return lanes.heartbeat(worker, forMs)
}

export function claim(
  { lanes }: StorageWorld,
  worker: WorkerId,
  only: readonly ConnectionId[] | null = null,
): Promise<readonly ClaimedLane[]> {
  return lanes.claim({ worker, only, held: new Set(), shouldDefer: () => false, limit: 100 })
}

export async function head({ lanes }: StorageWorld, connectionId: ConnectionId): Promise<QueuedMessage> {
  const [first] = await lanes.fetchNext(connectionId, 1, 0)
  if (!first) throw new Error('the lane is empty')
  return first
}

/** A step that does only what is given. */
export function step({ clock }: StorageWorld, lane: ClaimedLane, does: Partial<LaneTransition>): LaneTransition {
  const { connectionId, accountId, epoch } = lane
  return { connectionId, accountId, epoch, at: clock.now(), finish: null, discard: null, start: null, ...does }
}

export function open(world: StorageWorld, lane: ClaimedLane, message: QueuedMessage): Promise<LaneTransitionResult> {
  return world.lanes.record(step(world, lane, { start: { sequence: message.sequence, number: message.attempts + 1 } }))
}

export function attempt(
  { clock }: StorageWorld,
  message: { readonly sequence: Sequence; readonly attempts: number },
  outcome: AttemptRecord['outcome'] = 'accepted',
): AttemptRecord {
  return {
    sequence: message.sequence,
    number: message.attempts + 1,
    startedAt: clock.now(),
    endedAt: clock.now(),
    outcome,
    code: outcome === 'accepted' ? null : 'busy',
    words: null,
    networkId: outcome === 'accepted' ? 'net-1' : null,
  }
}

export const AS_PUBLISHED = { do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const
export const KEEP = { do: 'keep-queued', retry: null } as const

export function settled(world: StorageWorld, message: QueuedMessage): NonNullable<LaneTransition['finish']> {
  return { attempt: attempt(world, message), disposition: AS_PUBLISHED }
}

/** What the network reports now about a message of this connection, with nothing else. */
export function report(
  { clock }: Pick<StorageWorld, 'clock'>,
  about: Pick<Receipt, 'connectionId' | 'messageId' | 'kind'> & Partial<Receipt>,
): Receipt {
  return { attemptNumber: null, at: clock.now(), networkId: null, code: null, words: null, ...about }
}

export async function stateOf({ administration }: StorageWorld, id: MessageId): Promise<string> {
  return (await administration.explainMessage(id)).message.state
}

export async function timelineOf({ administration }: StorageWorld, id: MessageId): Promise<string[]> {
  return (await administration.explainMessage(id)).timeline.map((moment) => moment.kind)
}

export async function countMessages({ administration }: StorageWorld): Promise<number> {
  let count = 0
  for await (const _ of administration.listMessages({ accountId: null, connectionId: null, state: null, limit: null }))
    count += 1
  return count
}
