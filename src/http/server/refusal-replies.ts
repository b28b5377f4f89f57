import type { DocumentedRefusal } from '../../contract/openapi-replies.ts'
import { REPLIES, type RefusalReplyKind } from '../../contract/reply-table.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'

interface Reply {
  readonly kind: RefusalReplyKind
  readonly status: number
  /** When the caller should retry; null when retrying does not help. */
  readonly retryAfterSeconds: number | null
}

// A full lane drains by some messages a second, so half a minute makes enough room for a retry.
const RETRY_WHEN_FULL_SECONDS = 30
// A failed commit or a restart is over within seconds, or takes long.
const RETRY_WHEN_UNAVAILABLE_SECONDS = 5

/** Only for the console, with this status, and the command line. */
interface InConsole {
  readonly consoleStatus: number
}

// A code without a line here does not compile, so no refusal can leave as a 500 or a 200. Null: only for the command
// line; on the public endpoint it would be a fault.
const REPLY_OF: Record<RefusalCode, Reply | InConsole | null> = {
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
  sample_unknown: leavesAs('bad_request'),
  url_has_credentials: leavesAs('bad_request'),
  url_port_refused: leavesAs('bad_request'),
  url_not_public: leavesAs('bad_request'),
  type_unsupported_by_channel: leavesAs('bad_request'),

  not_signed_in: inConsole(401),
  step_up_required: inConsole(403),
  role_too_low: inConsole(403),
  cross_site_request: inConsole(403),
  console_needs_https: inConsole(403),
  console_not_built: inConsole(503),
  console_route_unknown: inConsole(404),
  input_invalid: inConsole(400),
  streams_exceeded: inConsole(429),
  exports_exceeded: inConsole(429),
  previews_exceeded: inConsole(429),

  sign_in_failed: inConsole(401),
  sign_in_throttled: inConsole(429),
  passwords_busy: inConsole(503),
  password_weak: inConsole(400),
  proof_wrong: inConsole(400),
  code_wrong: inConsole(400),
  ticket_dead: inConsole(400),
  link_dead: inConsole(404),
  people_exist: inConsole(409),
  person_exists: inConsole(409),
  person_unknown: inConsole(404),
  member_unknown: inConsole(404),
  last_owner: inConsole(409),
  invitation_unknown: inConsole(404),
  second_factor_required: inConsole(403),
  second_factor_missing: inConsole(409),
  passkey_refused: inConsole(400),
  passkey_exists: inConsole(409),
  passkey_unknown: inConsole(404),
  session_unknown: inConsole(404),

  setting_invalid: inConsole(400),
  argument_invalid: inConsole(400),
  account_unknown: inConsole(404),
  account_exists: inConsole(409),
  account_ambiguous: null,
  connection_unknown: inConsole(404),
  connection_exists: inConsole(409),
  network_key_taken: inConsole(409),
  connection_changed: inConsole(409),
  connection_not_proven: inConsole(400),
  network_unreachable: inConsole(503),
  connection_ambiguous: null,
  connection_has_waiting: inConsole(409),
  lane_not_waiting: inConsole(409),
  recipient_is_blocked: inConsole(409),
  recipient_not_blocked: inConsole(404),
  recipient_has_waiting: inConsole(409),
  recipient_was_erased: inConsole(409),
  delivery_unknown: inConsole(404),
  copy_gone: inConsole(404),
  channel_unknown: inConsole(404),
  channel_not_installed: inConsole(409),
  channel_without_phone: inConsole(409),
  number_not_linked: inConsole(409),
  session_request_running: inConsole(409),
  lanes_held: inConsole(409),
  session_request_unknown: inConsole(404),
  no_worker: null,
  links_exhausted: inConsole(429),
  token_unknown: inConsole(404),
  token_exists: inConsole(409),
  token_ended: inConsole(409),
  token_name_differs: inConsole(400),
  token_ambiguous: inConsole(409),
  event_unknown: inConsole(400),
  expiry_invalid: inConsole(400),
  message_unknown: inConsole(404),
  message_not_waiting: inConsole(409),
  message_not_ended: inConsole(409),
  message_sent_again: inConsole(409),
  message_body_deleted: inConsole(409),
  message_not_unconfirmed: inConsole(409),
  request_unknown: inConsole(404),
  database_newer: null,
  database_damaged: null,
  database_foreign: null,
  database_unavailable: inConsole(503),
  database_busy: inConsole(503),
  database_in_use: null,
  database_unsupported: null,
  database_unsafe: null,
  database_not_ours: null,
  key_ring_missing: null,
  key_ring_unusable: inConsole(503),
  key_ring_foreign: null,
  key_unknown: null,
  key_in_use: null,
  key_elsewhere_missing: null,
  webhook_unknown: inConsole(404),
  webhook_disabled: inConsole(409),
  webhook_secrets_overlap: inConsole(409),
  webhook_delivery_unknown: inConsole(404),
  webhooks_too_many: inConsole(409),
  lanes_held_already: inConsole(409),
  lanes_not_held: inConsole(409),
  hold_of_installation: inConsole(409),
  database_not_empty: null,
  copy_differs: null,
  backup_exists: null,
  backup_unusable: null,
  no_room: null,
  file_unusable: null,
  program_missing: null,
  program_failed: null,
  tls_unusable: null,
  address_in_use: null,
  address_unusable: null,
  service_unreachable: null,
}

/** The reply to a refusal: its kind, and the HTTP status where that differs from the kind's own. */
export function replyOf(code: RefusalCode): Reply {
  const reply = REPLY_OF[code]
  return reply && 'kind' in reply ? reply : leavesAs('internal_error')
}

// They occur only on other surfaces or for other methods.
const NEVER_OF_SENDING: readonly RefusalCode[] = ['metrics_not_allowed', 'method_unsupported']

/** Every refusal that a caller of the send endpoint can get, for the description of the API. */
export function documentedRefusals(): readonly DocumentedRefusal[] {
  return (Object.keys(REPLY_OF) as RefusalCode[]).flatMap((code) => {
    const reply = REPLY_OF[code]
    if (!reply || !('kind' in reply) || NEVER_OF_SENDING.includes(code)) return []
    const { kind, status, retryAfterSeconds } = reply
    return [{ code, kind, status, message: REFUSALS[code], saysWhen: retryAfterSeconds !== null }]
  })
}

// For a refusal of the command line alone: it has an explanation, so it is no fault.
const UNUSUAL_STATUS = 400

/** The status of a refusal in the console's private API. */
export function consoleStatusOf(code: RefusalCode): number {
  const reply = REPLY_OF[code]
  if (!reply) return UNUSUAL_STATUS
  return 'kind' in reply ? reply.status : reply.consoleStatus
}

function leavesAs(
  kind: RefusalReplyKind,
  status: number = REPLIES[kind].status,
  retryAfterSeconds: number | null = null,
): Reply {
  return { kind, status, retryAfterSeconds }
}

function inConsole(status: number): InConsole {
  return { consoleStatus: status }
}
