import { createHash } from 'node:crypto'

export type ColumnKind = 'text' | 'number' | 'bytes'
export type CopiedValue = string | number | Uint8Array | null
/** The values of a row, in the order of the table's columns. */
export type CopiedRow = readonly CopiedValue[]

export interface CopiedTable {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnKind>>
  /** By which rows are ordered, so that both sides read them in the same order. */
  readonly key: readonly string[]
}

const text = 'text'
const number = 'number'

/**
 * What an installation takes along when it moves to another engine, in the order in which it must be written. Not: what
 * is made anew by itself (lane entries, marks, tallies), what tells of processes that run no more (workers, owners of lanes), and
 * sessions: people sign in again.
 */
export const COPIED_TABLES: readonly CopiedTable[] = [
  {
    name: 'account',
    key: ['id'],
    columns: { id: text, name: text, created_at: number, requires_second_factor: number },
  },
  {
    name: 'connection',
    key: ['id'],
    columns: {
      id: text,
      account_id: text,
      number: text,
      channel: text,
      state: text,
      policy: text,
      channel_settings: text,
      network_key: text,
      callback_app: text,
      created_at: number,
      removed_at: number,
    },
  },
  {
    name: 'token',
    key: ['id'],
    columns: {
      id: text,
      account_id: text,
      name: text,
      sha256: 'bytes',
      prefix: text,
      events: text,
      connection_ids: text,
      source_ranges: text,
      created_at: number,
      expires_at: number,
      last_used_at: number,
      deleted_at: number,
      created_by: text,
      successor_id: text,
    },
  },
  {
    name: 'message',
    key: ['sequence'],
    columns: {
      sequence: number,
      id: text,
      account_id: text,
      connection_id: text,
      token_id: text,
      request_id: text,
      body: text,
      body_crc: number,
      recipient: text,
      type: text,
      state: text,
      reason: text,
      words: text,
      attempts: number,
      accepted_at: number,
      published_at: number,
      settled_at: number,
      network_id: text,
      remote_address: text,
      user_agent: text,
      took_us: number,
      resend_of: number,
      resent_as: number,
      resolved_at: number,
    },
  },
  {
    name: 'attempt',
    key: ['message_sequence', 'number'],
    columns: {
      message_sequence: number,
      number,
      started_at: number,
      ended_at: number,
      outcome: text,
      code: text,
      words: text,
    },
  },
  {
    name: 'accept_commit',
    key: ['last_sequence'],
    columns: { last_sequence: number, first_sequence: number, took_us: number },
  },
  {
    name: 'request',
    key: ['sequence'],
    columns: {
      sequence: number,
      account_id: text,
      token_id: text,
      request_id: text,
      received_at: number,
      took_us: number,
      status: number,
      code: text,
      errors: text,
      body: text,
      message_id: text,
      remote_address: text,
      user_agent: text,
    },
  },
  {
    name: 'timeline',
    key: ['message_sequence', 'position'],
    columns: {
      message_sequence: number,
      position: number,
      at: number,
      kind: text,
      code: text,
      words: text,
      facts: text,
    },
  },
  {
    name: 'idempotency',
    key: ['account_id', 'key'],
    columns: { account_id: text, key: text, fingerprint: text, message_sequence: number, accepted_at: number },
  },
  {
    name: 'lane',
    key: ['connection_id'],
    columns: {
      connection_id: text,
      account_id: text,
      epoch: number,
      head: text,
      trouble: text,
      wait_reason: text,
      wait_words: text,
      wait_until: number,
      last_attempt_at: number,
    },
  },
  {
    name: 'open_attempt',
    key: ['connection_id'],
    columns: {
      connection_id: text,
      account_id: text,
      message_sequence: number,
      number,
      epoch: number,
      started_at: number,
      crashes: number,
      evidence_until: number,
      words: text,
      doubted_sequence: number,
    },
  },
  {
    name: 'media',
    key: ['message_sequence'],
    columns: {
      message_sequence: number,
      account_id: text,
      connection_id: text,
      url: text,
      type: text,
      state: text,
      tries: number,
      next_try_at: number,
      code: text,
      words: text,
      path: text,
      size_bytes: number,
      sha256: text,
      mime: text,
      took_ms: number,
      ended_at: number,
    },
  },
  {
    name: 'channel_memory',
    key: ['position'],
    columns: {
      position: number,
      kind: text,
      connection_id: text,
      key: text,
      value: text,
      at: number,
      remind_at: number,
    },
  },
  {
    name: 'audit',
    key: ['sequence'],
    columns: {
      sequence: number,
      at: number,
      actor: text,
      account_id: text,
      action: text,
      object: text,
      detail: text,
      person_id: text,
      remote_address: text,
      user_agent: text,
    },
  },
  {
    name: 'person',
    key: ['id'],
    columns: {
      id: text,
      email: text,
      email_key: text,
      name: text,
      password_hash: text,
      created_at: number,
      last_sign_in_at: number,
    },
  },
  {
    name: 'membership',
    key: ['account_id', 'person_id'],
    columns: { account_id: text, person_id: text, role: text, joined_at: number },
  },
  {
    name: 'person_link',
    key: ['id'],
    columns: {
      id: text,
      sha256: 'bytes',
      kind: text,
      person_id: text,
      account_id: text,
      role: text,
      email: text,
      created_at: number,
      created_by: text,
      expires_at: number,
      used_at: number,
    },
  },
  {
    name: 'totp',
    key: ['person_id'],
    columns: { person_id: text, secret: 'bytes', confirmed_at: number, last_step: number, begun_secret: 'bytes' },
  },
  {
    name: 'passkey',
    key: ['id'],
    columns: {
      id: text,
      person_id: text,
      credential_id: text,
      public_key: 'bytes',
      sign_count: number,
      transports: text,
      name: text,
      created_at: number,
      last_used_at: number,
    },
  },
  {
    name: 'recovery_code',
    key: ['person_id', 'sha256'],
    columns: { person_id: text, sha256: 'bytes', used_at: number },
  },
  {
    name: 'webhook',
    key: ['account_id', 'id'],
    columns: {
      id: text,
      account_id: text,
      url: text,
      description: text,
      kinds: text,
      state: text,
      state_reason: text,
      secret: text,
      old_secret: text,
      old_secret_until: number,
      created_at: number,
      created_by: text,
      failing_since: number,
      last_delivered_at: number,
      dropped: number,
      served_at: number,
    },
  },
  { name: 'notice_want', key: ['account_id', 'kind'], columns: { account_id: text, kind: text } },
  {
    name: 'notice',
    key: ['position'],
    columns: {
      position: number,
      id: text,
      account_id: text,
      kind: text,
      at: number,
      key: text,
      message_sequence: number,
      data: text,
      is_new: number,
    },
  },
  {
    name: 'delivery',
    key: ['account_id', 'webhook_id', 'notice_position'],
    columns: {
      account_id: text,
      webhook_id: text,
      notice_position: number,
      kind: text,
      state: text,
      tries: number,
      tries_before: number,
      created_at: number,
      next_try_at: number,
      claim: text,
      ended_at: number,
      last_status: number,
      last_code: text,
      payload: text,
    },
  },
  {
    name: 'delivery_try',
    key: ['account_id', 'webhook_id', 'notice_position', 'number'],
    columns: {
      account_id: text,
      webhook_id: text,
      notice_position: number,
      number,
      at: number,
      took_ms: number,
      status: number,
      code: text,
      words: text,
      excerpt: text,
    },
  },
  {
    name: 'block_list',
    key: ['account_id'],
    columns: { account_id: text, version: number, removals: number, entries: number, hash_key: text },
  },
  {
    name: 'blocked_recipient',
    key: ['account_id', 'recipient'],
    columns: { account_id: text, recipient: text, reason: text, since: number, blocked_by: text, version: number },
  },
  { name: 'key_ring', key: ['only'], columns: { only: number, key_id: text, canary: text } },
  { name: 'hold', key: ['only'], columns: { only: number, since: number, reason: text } },
]

export interface TableDigest {
  readonly rows: number
  readonly sha256: string
}

/** Counts rows and makes one checksum of them all, in their order: from the same text on both sides. */
export class RowDigest {
  readonly #hash = createHash('sha256')
  #rows = 0

  get rows(): number {
    return this.#rows
  }

  add(rows: readonly CopiedRow[]): void {
    for (const row of rows) this.#hash.update(`${JSON.stringify(row.map(toText))}\n`)
    this.#rows += rows.length
  }

  finish(): TableDigest {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') }
  }
}

function toText(value: CopiedValue): string | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}
