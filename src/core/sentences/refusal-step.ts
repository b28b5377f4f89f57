import type { RefusalCode } from '../refusals.ts'

const HTTP = 'Check the HTTP client, or the proxy between it and Nuncio.'

/** What the caller should do, where the sentence that it got does not say so. */
const STEPS: Partial<Readonly<Record<RefusalCode, string>>> = {
  source_not_allowed: 'Call from an address that the token allows, or create a token for this one.',
  connection_not_allowed: 'Use another token, or send from a number of this one.',
  connection_backlog_full: 'See on the page of the connection why its messages wait.',
  account_backlog_full: 'See in the overview where they wait.',
  commit_unknown: 'Search the log for a message to this recipient near that time.',
  internal_error: 'Report it with its request id to the person who runs Nuncio.',
  malformed_request: HTTP,
  request_too_slow: HTTP,
  headers_too_large: HTTP,
  http_version_unsupported: HTTP,
  expectation_unsupported: HTTP,
  method_unsupported: 'Use POST.',
  body_too_large: 'Send large content as a file by URL.',
  body_not_utf8: 'Send it in UTF-8.',
  body_not_json: 'Correct it, for example with the tool that writes it.',
  body_too_deep: 'Send the plain shape that the documents show.',
  key_repeated: 'Write it once.',
  text_not_unicode: 'Send the whole character.',
  text_has_nul: 'Take it out.',
  text_has_control: 'Take it out.',
  text_empty: 'Write some text. For no caption, leave the field out.',
  text_too_long: 'Shorten it, or send it in parts.',
  field_required: 'Add it.',
  name_malformed: 'Change the name, for example to photo.jpg.',
  url_malformed: 'Send the whole URL, with special characters percent-encoded.',
  url_has_credentials: 'Use a link that works without.',
  url_port_refused: 'Serve the file on one of them.',
  url_not_public:
    'Give a public URL. For tests the person who runs Nuncio can allow private addresses (NUNCIO_MEDIA_ALLOWED_PRIVATE).',
  type_unsupported_by_channel: 'Send it from another number.',
}

/** Null: its sentence says it. */
export function refusalStep(code: string): string | null {
  return STEPS[code as RefusalCode] ?? null
}
