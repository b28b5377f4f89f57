import { commandLine } from './command-line.ts'

/**
 * Every refusal a caller, a person at the CLI or the operator can meet, with its sentence.
 * docs/refusals.md is printed from this table. How a code becomes an HTTP status is decided in http, not here.
 */
export const REFUSALS = {
  // The whole request
  unauthorized: 'The API token is missing, unknown, deleted or expired. Send a valid one in the `x-api-key` header.',
  event_missing: 'This token does not carry the event Messaging > Send Message. Create a token that does.',
  source_not_allowed: 'This token may not be used from this network address.',
  connection_not_allowed: 'This token is bound to other connections and may not send from this number.',
  connection_not_found: 'The `from` number is not a connection of this account. Add it first, or check the number.',
  route_not_found:
    'There is nothing at this path and method. The one endpoint is POST /chat/api/v1/public/message/send.',
  rate_exceeded: 'This account sends faster than its limit allows. Send again after the time in `Retry-After`.',
  connection_backlog_full:
    'Too many messages wait on this connection already. Send again after the time in `Retry-After`.',
  account_backlog_full: 'Too many messages of this account wait already. Send again after the time in `Retry-After`.',
  not_accepted: 'The message was not accepted, because it could not be stored. It is safe to send it again.',
  commit_unknown:
    'It is not known whether the message was stored. Send it again with the same `Idempotency-Key`; without a key it may be sent twice.',
  shutting_down: 'The service is shutting down and did not accept the message. It is safe to send it again.',
  metrics_not_allowed: 'Metrics are shown on this machine only, unless the settings name other addresses or a secret.',
  internal_error: 'Something went wrong on our side. The request id in `x-request-id` finds it in our log.',

  // How the request is written
  malformed_request: 'The HTTP request is malformed.',
  header_repeated: 'This header may be sent only once.',
  headers_too_large:
    'The request headers are too large: at most 8 KiB are read, and 16 KiB for pages of the console and the documents.',
  request_too_slow: 'The request did not arrive in time.',
  transfer_encoding_unsupported: 'Send the body plain or `chunked`: other transfer codings are not read.',
  content_encoding_unsupported: 'Send the body as it is: compressed bodies are not read.',
  content_type_unsupported: 'Send the body as `Content-Type: application/json` (a charset of utf-8 is allowed).',
  expectation_unsupported: 'The only expectation supported is `Expect: 100-continue`.',
  method_unsupported: 'This HTTP method is not supported.',
  http_version_unsupported: 'Only HTTP/1.0 and HTTP/1.1 are spoken here.',
  body_missing: 'The request has no body. Send a JSON object.',
  body_too_large: 'The body is larger than 64 KiB.',
  body_not_utf8: 'The body is not valid UTF-8.',
  body_not_json: 'The body is not valid JSON.',
  body_too_deep: 'The body is nested more than 8 levels deep.',
  body_not_object: 'The body must be a JSON object.',
  key_repeated: 'A key stands twice in the same JSON object, so it is not clear which value is meant.',
  key_escaped:
    'A key is written with escapes where plain letters would do. Write it plainly, so that every reader sees the same key.',
  text_not_unicode: 'A string holds half of a surrogate pair, which is no valid Unicode.',
  text_has_nul: 'A string holds the character U+0000, which cannot be delivered.',
  idempotency_key_malformed: 'The `Idempotency-Key` must be 1 to 255 printable ASCII characters. Example: order-1042.',
  idempotency_key_reused:
    'This `Idempotency-Key` was used before with a different message. Use a new key for a new message.',

  // Fields
  field_required: 'This field is required.',
  field_wrong_type: 'This field has the wrong type.',
  field_unused:
    'This field is not used with this `message.type`. Leave it out, because accepting it would lose what it says.',
  number_malformed:
    'A number is its country code and digits only: 7 to 15 digits, no leading zero, no `+`, spaces or dashes. Example: 14155550100.',
  type_unknown: 'The type must be one of: message, image, document, video, audio.',
  text_empty: 'The text has no visible character.',
  text_too_long: 'The text is too long.',
  text_has_control: 'The text holds a control character other than tab and line breaks.',
  name_malformed:
    'A file name is 1 to 255 bytes, has an extension, and holds no slash, backslash, control or bidi-override character. Example: photo.jpg.',
  url_malformed:
    'The URL must be absolute, start with http:// or https:// and be at most 2,048 characters long. Example: https://files.example.com/photo.jpg.',
  sample_unknown: 'There is no sample file of this name.',
  url_has_credentials: 'The URL must not hold a user name or password.',
  url_port_refused: 'Media is fetched from the ports 80, 443, 8080 and 8443 only.',
  url_not_public: 'The URL does not point to a public address, and media is fetched from public addresses only.',
  type_unsupported_by_channel: 'The channel of this connection cannot send this type of message.',

  // Recipients
  recipient_is_blocked: `The recipient asked to stop and is on the block list of the account, so nothing is sent again. If it was blocked by mistake: ${commandLine`recipient unblock RECIPIENT`}`,
  recipient_not_blocked: 'This number is not on the block list of the account.',
  recipient_has_waiting: 'Messages to this recipient wait. Cancel them first, then it can be erased.',
  recipient_was_erased: 'The recipient of this message was erased, so it cannot be sent again.',

  // The console
  not_signed_in: 'You are not signed in, or your session has ended. Sign in again.',
  step_up_required: 'Prove that it is you: give your password, or use your second factor, and try again.',
  role_too_low: 'Your role in this account does not allow this. Ask one of its owners.',
  cross_site_request:
    'This request did not come from a page of the console, so nothing was done. Open the console and try again.',
  console_needs_https:
    'Over plain http the console is open on this machine only: what you type could be read on the way. Serve it by https and set NUNCIO_PUBLIC_URL to that address, or set NUNCIO_CONSOLE_PLAIN_HTTP=true if you trust the network.',
  console_not_built: 'The pages of the console are missing. Install Nuncio again; in a clone, `npm start` builds them.',
  console_route_unknown: 'There is nothing at this path and method of the console.',
  input_invalid: 'Something in this request is not right. See its fields.',
  streams_exceeded: 'You have too many pages of the console open. Close some of them.',
  exports_exceeded:
    'At most 2 exports of one person and 4 of one account run at once. Wait until one has finished, or cancel one.',
  previews_exceeded: 'Too many files of the sandbox are being loaded at once. Wait until some have arrived.',

  // Signing in, and who may what
  sign_in_failed: 'The e-mail or the password is wrong.',
  sign_in_throttled: 'Too many tries. Wait a little and try again.',
  passwords_busy: 'Too many people sign in at this moment. Try again in a few seconds.',
  password_weak: 'This password is too easy to guess.',
  proof_wrong: 'This is not right. Try again.',
  code_wrong: 'This code is wrong, too old or was used before. Wait for the next one and try again.',
  ticket_dead: 'This took too long, or was answered already. Begin again.',
  link_dead:
    'This link does not work: it was used, withdrawn or replaced, is too old, or the person who made it is no longer an owner. Ask for a new one.',
  people_exist: `There are people already: ${commandLine`user add`} invites further ones.`,
  person_exists: 'There is a person with this e-mail already.',
  person_unknown: 'There is no person with this e-mail.',
  member_unknown: 'There is no such person in this account.',
  last_owner: 'An account needs an owner, and this is the last one. Make another person an owner first.',
  invitation_unknown: 'There is no such invitation in this account.',
  second_factor_required:
    'This account is open only to people with a second factor. Set one up under your own profile.',
  second_factor_missing: 'Recovery codes stand in for a second factor, and you have none. Set one up first.',
  passkey_refused: 'The passkey could not be checked. Try again, or use another way.',
  passkey_exists: 'This passkey is registered already.',
  passkey_unknown: 'You have no such passkey.',
  session_unknown: 'You have no such session: it may have ended.',

  // People and the operator
  setting_invalid: 'A setting is wrong.',
  argument_invalid: 'An argument is wrong.',
  account_unknown: 'There is no account of this name.',
  account_exists: 'There is an account of this name already.',
  account_ambiguous: 'There are several accounts: say which one with --account.',
  connection_unknown: 'There is no connection with this number.',
  connection_exists: 'This number is a connection of the account already.',
  network_key_taken:
    'The network knows this number as one that another connection of this installation sends for already. Remove that connection first, or check whether the id of the number is the right one.',
  connection_changed:
    'This connection was changed by another person in the meantime, so this change was not stored. Check it, then make the change again.',
  connection_not_proven: 'The network does not let this connection send with these settings.',
  network_unreachable: 'The network did not answer, so nothing was changed. Try again.',
  connection_ambiguous: 'Several accounts have a connection with this number: say which one with --account.',
  connection_has_waiting: 'Messages wait on this connection; removing it cancels them. Say --cancel-waiting to do so.',
  lane_not_waiting: 'This lane is in no wait that can be ended: it moves, or waits for something else.',
  delivery_unknown: 'The sandbox delivered nothing of this id through this connection.',
  copy_gone:
    'This machine has no copy of this file: it made room for newer ones, was too large for it, or another machine delivered it.',
  channel_unknown: 'There is no channel of this name.',
  channel_not_installed: 'The packages of this channel are not installed where Nuncio runs.',
  channel_without_phone:
    'A connection of this channel is not linked to a phone, so there is nothing to link or unlink.',
  number_not_linked: 'This number is not linked to a phone. Link it first.',
  session_request_running: 'This number is being linked at this moment. Wait until that has ended.',
  session_request_unknown: 'This has ended, or somebody else has begun to link this number since. Begin again.',
  no_worker: 'No worker runs that could do this. Start Nuncio, then try again.',
  links_exhausted: 'Codes were asked for too often in the last hour. Try again later.',
  token_unknown: 'There is no such token.',
  token_exists: 'There is a token of this name already.',
  token_ended: 'This token has ended or was replaced already, so it cannot be replaced. Create a new one.',
  token_name_differs: 'What you typed is not the name of this token, so nothing was deleted.',
  token_ambiguous: 'Several tokens fit this: say which one by its id.',
  event_unknown: 'There is no such event.',
  expiry_invalid: 'A token expires after 7, 30, 60 or 90 days, after 1 year, or on a date up to 2 years ahead.',
  webhook_unknown: 'There is no such webhook.',
  webhook_disabled: 'This webhook is disabled, so nothing is posted to it. Enable it first.',
  webhook_secrets_overlap:
    'Its secret was replaced a short while ago, and the one before still signs too. Another new one would end that one at once: wait until its time is over, or confirm that it may end.',
  webhook_delivery_unknown: 'There is no such delivery of this webhook. Deliveries are kept for 30 days at most.',
  webhooks_too_many: 'An account has at most 20 webhooks. Remove one first.',
  message_unknown: 'There is no message with this id.',
  message_not_waiting: 'This message is no longer waiting, so it cannot be cancelled.',
  message_not_ended:
    'There is nothing to retry: this message has not failed, expired or been cancelled, and waits for no next try.',
  message_sent_again: 'This message was sent again already: see the new message instead.',
  message_body_deleted:
    'The content of this message was deleted because its time was over, so it cannot be sent again.',
  message_not_unconfirmed: 'This message is not UNCONFIRMED, so there is nothing to resolve.',
  request_unknown: 'There is no request with this id in the API log.',
  database_newer:
    'The database was made by a newer version of Nuncio. Run that version, or restore a backup made before the upgrade.',
  database_damaged: 'The database is damaged.',
  database_foreign: 'The file is not a database of Nuncio.',
  database_unavailable: 'The database cannot be opened.',
  database_busy: 'Another process kept the database locked for more than 5 seconds. Nothing was changed: try again.',
  database_in_use: 'Another Nuncio serves this data directory already.',
  database_unsupported: 'This kind of database is not supported.',
  database_unsafe:
    'The database is set so that promises of ours would not hold: a crash could lose what was answered with 200.',
  database_not_ours: 'This is not the database that was served from this data folder before.',
  key_ring_missing: 'There is no key ring, and secrets in the database are sealed with one.',
  key_ring_unusable: 'The key ring cannot be used.',
  key_ring_foreign: 'The key ring is not the one that the secrets in the database are sealed with.',
  key_unknown: 'There is no key of this id in the key ring.',
  key_in_use: 'This key is still in use.',
  key_elsewhere_missing: 'Other machines do not have the new key yet.',
  lanes_held: `All numbers are held, so no phone can be linked, unlinked or logged in again. Check what was sent, then: ${commandLine`hold --release`}`,
  lanes_held_already: 'All numbers are held already.',
  lanes_not_held: 'The numbers are not held, so there is nothing to release.',
  hold_of_installation: 'The numbers of other accounts are held, too. Ask the person who runs Nuncio to release them.',
  database_not_empty: 'The database holds an installation already.',
  copy_differs: 'What was copied is not what was there. Nothing was kept of it.',
  backup_exists: 'There is something of this name already, and nothing is overwritten.',
  backup_unusable: 'This is no backup, or it is damaged.',
  no_room: 'The disk has too little room for this.',
  file_unusable: 'A file or folder cannot be used.',
  program_missing: 'A program is needed for this, such as one of PostgreSQL, and was not found or is too old.',
  program_failed: 'A program that is needed for this, such as one of PostgreSQL, failed.',
  tls_unusable: 'The certificate or its key cannot be used.',
  address_in_use: 'The address is in use already.',
  address_unusable: 'The address cannot be listened on.',
  service_unreachable: `The service does not answer. Start it with ${commandLine`serve`}, or check the address.`,
} as const satisfies Record<string, string>

export type RefusalCode = keyof typeof REFUSALS

/** An error we expect and can explain. Everything else that is thrown is a fault. */
export class Refusal extends Error {
  readonly code: RefusalCode
  /** Where the mistake is, such as `message.media.url` or `NUNCIO_PORT`; null when it is in the whole request. */
  readonly field: string | null

  /** `detail` replaces the table's sentence where a more exact one can be said. */
  // biome-ignore lint/complexity/useMaxParams: the order of Error's own parameters, with ours before its options
  constructor(code: RefusalCode, detail?: string, field: string | null = null, options?: ErrorOptions) {
    super(detail ?? REFUSALS[code], options)
    this.name = 'Refusal'
    this.code = code
    this.field = field
  }
}

/** Several at once, such as all settings of a form that are wrong. Its message is theirs, one after the other. */
export class JoinedRefusal extends Refusal {
  readonly parts: readonly Refusal[]

  constructor(parts: readonly [Refusal, ...Refusal[]]) {
    super(parts[0].code, [...new Set(parts.map(({ message }) => message))].join(' '), parts[0].field)
    this.parts = parts
  }
}

/** Reads each part of a form; refuses with all that is wrong. */
export async function readParts<Values extends object>(
  parts: {
    readonly [Key in keyof Values]: () => Values[Key] | Promise<Values[Key]>
  },
): Promise<Values> {
  const values: Partial<Values> = {}
  const refused: Refusal[] = []
  for (const key of Object.keys(parts) as (keyof Values)[]) {
    try {
      values[key] = await parts[key]()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refused.push(error)
    }
  }
  const [first, ...others] = refused
  if (first) throw new JoinedRefusal([first, ...others])
  return values as Values
}
