import { REPLIES, type RefusalReplyKind } from '../contract/replies.ts'
import type { RefusalCode } from '../core/refusals.ts'

interface Reply {
  readonly kind: RefusalReplyKind
  readonly status: number
  /** When sending again is of use; null where it is not. */
  readonly retryAfterSeconds: number | null
}

// A lane that is full drains by some messages a second, so half a minute makes room that is worth coming back for.
const RETRY_WHEN_FULL_SECONDS = 30
// A commit that failed, or a restart, is over within seconds or takes for long.
const RETRY_WHEN_UNAVAILABLE_SECONDS = 5

// A code without a line here does not compile, so no refusal can leave as a 500 or a 200. Null: people and operators
// meet it at the command line; leaving by HTTP it would be a fault.
const REPLY_OF: Record<RefusalCode, Reply | null> = {
  unauthorized: leavesAs('unauthorized'),
  event_missing: leavesAs('access_denied'),
  source_not_allowed: leavesAs('access_denied'),
  connection_not_allowed: leavesAs('access_denied'),
  connection_not_found: leavesAs('connection_not_found'),
  route_not_found: leavesAs('route_not_found'),
  rate_exceeded: leavesAs('too_many_requests', 429, 1),
  connection_backlog_full: leavesAs('too_many_requests', 429, RETRY_WHEN_FULL_SECONDS),
  account_backlog_full: leavesAs('too_many_requests', 429, RETRY_WHEN_FULL_SECONDS),
  not_accepted: leavesAs('unavailable', 503, RETRY_WHEN_UNAVAILABLE_SECONDS),
  commit_unknown: leavesAs('unavailable', 503, RETRY_WHEN_UNAVAILABLE_SECONDS),
  shutting_down: leavesAs('unavailable', 503, RETRY_WHEN_UNAVAILABLE_SECONDS),
  internal_error: leavesAs('internal_error'),
  metrics_not_allowed: leavesAs('access_denied'),

  malformed_request: leavesAs('bad_request'),
  header_repeated: leavesAs('bad_request'),
  headers_too_large: leavesAs('bad_request', 431),
  request_too_slow: leavesAs('bad_request', 408),
  transfer_encoding_unsupported: leavesAs('bad_request'),
  content_encoding_unsupported: leavesAs('bad_request'),
  content_type_unsupported: leavesAs('bad_request'),
  expectation_unsupported: leavesAs('bad_request', 417),
  method_unsupported: leavesAs('bad_request', 405),
  http_version_unsupported: leavesAs('bad_request', 505),
  body_missing: leavesAs('bad_request'),
  body_too_large: leavesAs('bad_request'),
  body_not_utf8: leavesAs('bad_request'),
  body_not_json: leavesAs('bad_request'),
  body_too_deep: leavesAs('bad_request'),
  body_not_object: leavesAs('bad_request'),
  key_repeated: leavesAs('bad_request'),
  key_escaped: leavesAs('bad_request'),
  text_not_unicode: leavesAs('bad_request'),
  text_has_nul: leavesAs('bad_request'),
  idempotency_key_malformed: leavesAs('bad_request'),
  idempotency_key_reused: leavesAs('bad_request'),

  field_required: leavesAs('bad_request'),
  field_wrong_type: leavesAs('bad_request'),
  field_unused: leavesAs('bad_request'),
  number_malformed: leavesAs('bad_request'),
  type_unknown: leavesAs('bad_request'),
  text_empty: leavesAs('bad_request'),
  text_too_long: leavesAs('bad_request'),
  text_has_control: leavesAs('bad_request'),
  name_malformed: leavesAs('bad_request'),
  url_malformed: leavesAs('bad_request'),
  url_has_credentials: leavesAs('bad_request'),
  url_port_refused: leavesAs('bad_request'),
  url_not_public: leavesAs('bad_request'),
  type_unsupported_by_channel: leavesAs('bad_request'),

  setting_invalid: null,
  argument_invalid: null,
  account_unknown: null,
  account_exists: null,
  account_ambiguous: null,
  connection_unknown: null,
  connection_exists: null,
  connection_ambiguous: null,
  connection_has_waiting: null,
  channel_unknown: null,
  token_unknown: null,
  token_exists: null,
  token_ambiguous: null,
  event_unknown: null,
  expiry_invalid: null,
  message_unknown: null,
  message_not_waiting: null,
  message_not_ended: null,
  message_sent_again: null,
  message_not_unconfirmed: null,
  request_unknown: null,
  database_newer: null,
  database_damaged: null,
  database_foreign: null,
  database_unavailable: null,
  database_busy: null,
  database_in_use: null,
  database_unsupported: null,
  database_unsafe: null,
  database_not_ours: null,
  lanes_held_already: null,
  lanes_not_held: null,
  database_not_empty: null,
  copy_differs: null,
  address_in_use: null,
  service_unreachable: null,
}

/** How a refusal leaves: its kind of reply, and the HTTP status where that differs from the kind's own. */
export function replyOf(code: RefusalCode): Reply {
  return REPLY_OF[code] ?? leavesAs('internal_error')
}

function leavesAs(
  kind: RefusalReplyKind,
  status: number = REPLIES[kind].status,
  retryAfterSeconds: number | null = null,
): Reply {
  return { kind, status, retryAfterSeconds }
}
