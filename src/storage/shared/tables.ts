import type { Generated } from 'kysely'
import type { AccountId, ConnectionId, Instant, MessageId, TokenId, WorkerId } from '../../core/ids.ts'
import type { MessageType, Sequence, SettledState } from '../../core/message/message.ts'
import type { ConnectionState } from '../../core/ports/administration.ts'

/** The tables that administration reads or writes, as both engines have them. JSON is kept as text. */
export interface Tables {
  account: { id: AccountId; name: string; created_at: Instant }
  connection: {
    id: ConnectionId
    account_id: AccountId
    number: string
    channel: string
    state: ConnectionState
    policy: string
    channel_settings: string
    created_at: Instant
    removed_at: Instant | null
  }
  token: {
    id: TokenId
    account_id: AccountId
    name: string
    sha256: Buffer
    prefix: string
    events: string
    connection_ids: string | null
    source_ranges: string | null
    created_at: Instant
    expires_at: Instant
    last_used_at: Instant | null
    deleted_at: Instant | null
  }
  message: {
    sequence: Generated<Sequence>
    id: MessageId
    account_id: AccountId
    connection_id: ConnectionId
    token_id: TokenId | null
    request_id: string | null
    body: string
    body_crc: number
    recipient: string
    type: MessageType
    state: 'QUEUED' | SettledState
    reason: string | null
    words: string | null
    attempts: Generated<number>
    accepted_at: Instant
    published_at: Instant | null
    settled_at: Instant | null
    network_id: string | null
    remote_address: string | null
    user_agent: string | null
    took_us: number | null
    resend_of: Sequence | null
    resent_as: Sequence | null
    resolved_at: Instant | null
  }
  lane_entry: { connection_id: ConnectionId; sequence: Sequence }
  /** A view: what is unfinished. */
  waiting: { connection_id: ConnectionId; sequence: Sequence; accepted_at: Instant }
  accept_commit: { last_sequence: Sequence; first_sequence: Sequence; took_us: number }
  request: {
    sequence: Generated<number>
    account_id: AccountId
    token_id: TokenId
    request_id: string
    received_at: Instant
    took_us: number
    status: number
    code: string
    errors: string | null
    body: string | null
    message_id: MessageId | null
    remote_address: string | null
    user_agent: string | null
  }
  worker: {
    id: WorkerId
    heartbeat_until: Instant
    host: string | null
    pid: number | null
    roles: string | null
    version: string | null
    started_at: Instant | null
  }
  lane: {
    connection_id: ConnectionId
    owner: WorkerId | null
    wait_reason: string | null
    wait_words: string | null
    wait_until: Instant | null
  }
  open_attempt: {
    connection_id: ConnectionId
    message_sequence: Sequence
    number: number
    started_at: Instant
    evidence_until: Instant | null
    words: string | null
    /** The message whose attempt was open when all lanes were held. */
    doubted_sequence: Sequence | null
  }
  attempt: {
    message_sequence: Sequence
    number: number
    started_at: Instant
    ended_at: Instant
    outcome: 'accepted' | 'rejected' | 'unknown'
    code: string | null
    words: string | null
  }
  media: {
    message_sequence: Sequence
    account_id: AccountId
    connection_id: ConnectionId
    url: string
    type: MessageType
    state: 'pending' | 'ready' | 'failed' | 'forgotten'
    tries: Generated<number>
    next_try_at: Instant
    code: string | null
    words: string | null
    size_bytes: number | null
    sha256: string | null
    mime: string | null
    took_ms: number | null
    ended_at: Instant | null
  }
  channel_memory: {
    position: Generated<number>
    kind: string
    connection_id: ConnectionId
    key: string
    value: string
    at: Instant
  }
  timeline: {
    message_sequence: Sequence
    position: number
    at: Instant
    kind: string
    code: string | null
    words: string | null
    facts: string | null
  }
  audit: {
    sequence: Generated<number>
    at: Instant
    actor: string
    account_id: AccountId | null
    action: string
    object: string
    detail: string | null
  }
  hold: { only: 1; since: Instant; reason: string }
  remembrance: { only: 1; installation: string; mark: number; holds: number }
  lane_change: { position: Generated<number>; connection_id: ConnectionId }
}
