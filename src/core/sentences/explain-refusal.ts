import type { RefusalCode } from '../refusals.ts'

const HTTP = 'Check the HTTP client, or the proxy between it and Nuncio.'

/** Texts about refused requests: one for lists, and a next step for the caller where the refusal's own sentence has none. */
const TEXTS: Partial<Readonly<Record<RefusalCode, readonly [list: string, step?: string]>>> = {
  unauthorized: ['No valid token'],
  event_missing: ['Token may not send'],
  source_not_allowed: [
    'Address not allowed',
    'Call from an address that the token allows, or create a token for this one.',
  ],
  connection_not_allowed: ['Token bound to other numbers', 'Use another token, or send from a number of this one.'],
  connection_not_found: ['Unknown sender'],
  route_not_found: ['Wrong path', 'Check the path and the method of the request.'],
  rate_exceeded: ['Too fast'],
  connection_backlog_full: ['Queue of the number full', 'See on the page of the connection why its messages wait.'],
  account_backlog_full: ['Queue of the account full', 'See in the overview where they wait.'],
  not_accepted: ['Not stored'],
  commit_unknown: ['Perhaps stored', 'Search the log for a message to this recipient near that time.'],
  shutting_down: ['Nuncio was stopping'],
  metrics_not_allowed: ['Metrics not allowed'],
  internal_error: ['Error in Nuncio', 'Report it with its request id to the person who runs Nuncio.'],
  malformed_request: ['Bad HTTP request', HTTP],
  header_repeated: ['Header sent twice'],
  headers_too_large: ['Headers too large', HTTP],
  request_too_slow: ['Request too slow', HTTP],
  transfer_encoding_unsupported: ['Compressed body'],
  content_encoding_unsupported: ['Compressed body'],
  content_type_unsupported: ['Wrong content type'],
  expectation_unsupported: ['Expect header', HTTP],
  method_unsupported: ['Wrong method', 'Use POST.'],
  http_version_unsupported: ['Wrong HTTP version', HTTP],
  body_missing: ['No JSON object'],
  body_too_large: ['Body too large', 'Send large content as a file by URL.'],
  body_not_utf8: ['Not UTF-8', 'Send it in UTF-8.'],
  body_not_json: ['No JSON', 'Correct it, for example with the tool that writes it.'],
  body_too_deep: ['Nested too deep', 'Send the plain shape that the documents show.'],
  body_not_object: ['No JSON object'],
  key_repeated: ['Key twice in one object', 'Write it once.'],
  key_escaped: ['Key is escaped'],
  text_not_unicode: ['Half a character', 'Send the whole character.'],
  text_has_nul: ['Control character', 'Take it out.'],
  text_has_control: ['Control character', 'Take it out.'],
  text_empty: ['Empty text', 'Write some text. For no caption, leave the field out.'],
  text_too_long: ['Text too long', 'Shorten it, or send it in parts.'],
  idempotency_key_malformed: ['Invalid key'],
  idempotency_key_reused: ['Key used before'],
  field_required: ['Missing', 'Add it.'],
  field_wrong_type: ['Wrong type', 'Send the type that the documents show.'],
  field_unused: ['Not used with this type'],
  number_malformed: ['Only digits, 7 to 15 of them'],
  type_unknown: ['Unknown type'],
  name_malformed: ['File name not allowed', 'Change the name, for example to photo.jpg.'],
  url_malformed: [
    'Invalid URL',
    'Correct the URL, such as https://files.example.com/photo.jpg. Special characters in it must be percent-encoded.',
  ],
  sample_unknown: ['No such sample file', 'Use the URL of one of them, as the quickstart does.'],
  url_has_credentials: ['Password in the URL', 'Use a link that works without.'],
  url_port_refused: ['Port not allowed', 'Serve the file on one of them.'],
  url_not_public: [
    'Private address',
    'Give a public URL. For tests the person who runs Nuncio can allow private addresses.',
  ],
  type_unsupported_by_channel: ['Not possible from here', 'Send it from another number.'],
}

/** Null: its sentence says it. */
export function refusalStep(code: string): string | null {
  return TEXTS[code as RefusalCode]?.[1] ?? null
}

/** For lists. A code of a newer version reads as itself. */
export function refusalList(code: string): string {
  return TEXTS[code as RefusalCode]?.[0] ?? code
}
