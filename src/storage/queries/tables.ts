import type { Generated } from 'kysely'
import type { AccountId, ConnectionId, Instant, MessageId, TokenId, WorkerId } from '../../core/ids.ts'
import type { MessageState, MessageType, Sequence, SettledState } from '../../core/message/message.ts'
import type { DeliveryState, WebhookState } from '../../core/notifications/webhook.ts'
import type { Role } from '../../core/people/role.ts'
import type { ConnectionState } from '../../core/ports/administration.ts'
import type { Tallies } from '../../core/ports/console/overview.ts'
import type { AlarmSeverity } from '../../core/watchdog/alarm-kinds.ts'

/** The tables that administration reads or writes, as both engines have them. JSON is kept as text. */
export interface Tables {
  account: {
    id: AccountId
    name: string
    created_at: Instant
    requires_second_factor: Generated<number>
    message_seen_at: Generated<Instant | null>
  }
  connection: {
    id: ConnectionId
    account_id: AccountId
    number: string
    channel: string
    state: ConnectionState
    policy: string
    channel_settings: string
    network_key: string | null
    callback_app: string | null
    network_check: Generated<string | null>
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
    created_by: string | null
    successor_id: TokenId | null
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
    body_deleted_at: Instant | null
  }
  lane_entry: { connection_id: ConnectionId; sequence: Sequence }
  /** A view of the unfinished messages. */
  waiting: {
    connection_id: ConnectionId
    sequence: Sequence
    id: MessageId
    account_id: AccountId
    recipient: string
    accepted_at: Instant
  }
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
    body_deleted_at: Instant | null
    /** How many refused requests the row stands for, and when the first of them came; null: it is one request. */
    summed_requests: number | null
    summed_since: Instant | null
    message_state: MessageState | null
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
    failure_streak: string | null
    last_attempt_at: Instant | null
    last_report_at: Instant | null
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
    possibly_superseded_sequence: Sequence | null
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
    person_id: string | null
    remote_address: string | null
    user_agent: string | null
  }
  person: {
    id: string
    email: string
    email_key: string
    name: string
    password_hash: string | null
    created_at: Instant
    last_sign_in_at: Instant | null
  }
  membership: { account_id: AccountId; person_id: string; role: Role; joined_at: Instant }
  session: {
    id: string
    sha256: Buffer
    person_id: string
    proof: string
    is_kept: number
    started_at: Instant
    last_used_at: Instant
    ends_at: Instant
    proven_at: Instant
    remote_address: string | null
    user_agent: string | null
  }
  person_link: {
    id: string
    sha256: Buffer
    kind: 'set-up' | 'invitation' | 'reset-password'
    person_id: string | null
    account_id: AccountId | null
    role: Role | null
    email: string | null
    created_at: Instant
    created_by: string
    maker_id: string | null
    expires_at: Instant
    used_at: Instant | null
  }
  totp: {
    person_id: string
    secret: Buffer | null
    confirmed_at: Instant | null
    last_step: number | null
    begun_secret: Buffer | null
  }
  passkey: {
    id: string
    person_id: string
    credential_id: string
    public_key: Buffer
    sign_count: number
    transports: string
    name: string
    created_at: Instant
    last_used_at: Instant | null
  }
  recovery_code: { person_id: string; sha256: Buffer; used_at: Instant | null }
  known_device: { person_id: string; sha256: Buffer; used_at: Instant }
  sign_in_throttle: { key: string; tries: number; counted_from: Instant; last_at: Instant }
  sign_in_ticket: { sha256: Buffer; kind: string; person_id: string | null; content: string; expires_at: Instant }
  block_list: {
    account_id: AccountId
    version: number
    removals: Generated<number>
    entries: Generated<number>
    hash_key: Generated<string | null>
  }
  blocked_recipient: {
    account_id: AccountId
    recipient: string
    reason: string | null
    since: Instant
    blocked_by: string
    version: number
  }
  hold: { only: 1; since: Instant; reason: string }
  key_ring: { only: 1; key_id: string; canary: string }
  checkpoint: { only: 1; installation: string; mark: number; holds: number }
  lane_change: { position: Generated<number>; connection_id: ConnectionId }
  tally: { account_id: AccountId; connection_id: string; hour: Instant; state: keyof Tallies; count: number }
  tally_reason: {
    account_id: AccountId
    hour: Instant
    state: MessageState
    reason: string
    count: number
    latest_at: Instant
  }
  webhook: {
    id: string
    account_id: AccountId
    url: string
    description: string
    kinds: string
    state: WebhookState | 'removed'
    state_reason: string | null
    secret: string
    old_secret: string | null
    old_secret_until: Instant | null
    created_at: Instant
    created_by: string
    failing_since: Instant | null
    last_delivered_at: Instant | null
    dropped: Generated<number>
    served_at: Generated<Instant>
  }
  alarm: {
    id: Generated<number>
    account_id: AccountId | null
    kind: string
    object: string
    severity: AlarmSeverity
    facts: string
    since: Instant
    raised_at: Instant
    changed_at: Instant
    cleared_at: Instant | null
    is_announced: number
  }
  notice_want: { account_id: AccountId; kind: string }
  notice: {
    position: Generated<number>
    id: string
    account_id: AccountId
    kind: string
    at: Instant
    key: string | null
    message_sequence: Sequence | null
    data: string
    is_new: Generated<number>
  }
  delivery: {
    account_id: AccountId
    webhook_id: string
    notice_position: number
    kind: string
    state: DeliveryState
    tries: Generated<number>
    tries_before: Generated<number>
    created_at: Instant
    next_try_at: Instant | null
    claim: string | null
    ended_at: Instant | null
    last_status: number | null
    last_code: string | null
    payload: string
  }
  delivery_try: {
    account_id: AccountId
    webhook_id: string
    notice_position: number
    number: number
    at: Instant
    took_ms: number
    status: number | null
    code: string
    words: string | null
    excerpt: string | null
  }
  tally_hour: { hour: Instant; counted_at: Instant }
  account_retention: { account_id: AccountId; bodies_days: number | null; messages_days: number | null }
  retention_state: {
    only: 1
    begins_at: Instant
    waits_for: string | null
    swept_by: string | null
    swept_until: Instant
    begun_at: Instant | null
    ended_at: Instant | null
    took_ms: number | null
    counts: string | null
  }
}
