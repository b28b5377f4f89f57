import { refusalBody, successBody } from './replies.ts'
import { REPLIES, type RefusalReplyKind } from './reply-table.ts'
import { parseSendMessage } from './send-message.ts'

/** A refusal in the OpenAPI document. The service passes them in, because the contract does not know them. */
export interface DocumentedRefusal {
  readonly code: string
  readonly kind: RefusalReplyKind
  /** Not always that of the kind: errors of the HTTP parser have statuses of their own. */
  readonly status: number
  /** The sentence callers read. */
  readonly message: string
  /** Whether the reply says after how many seconds to send again. */
  readonly saysWhen: boolean
}

// The field in the example of each refusal. Refusals of the whole request have none.
const FIELD_OF: Readonly<Record<string, string>> = {
  unauthorized: 'x-api-key',
  connection_not_found: 'from',
  connection_not_allowed: 'from',
  content_type_unsupported: 'content-type',
  content_encoding_unsupported: 'content-encoding',
  transfer_encoding_unsupported: 'transfer-encoding',
  expectation_unsupported: 'expect',
  header_repeated: 'content-type',
  idempotency_key_malformed: 'idempotency-key',
  idempotency_key_reused: 'idempotency-key',
  key_repeated: 'message.type',
  field_required: 'to',
  field_wrong_type: 'to',
  field_unused: 'message.media',
  number_malformed: 'to',
  type_unknown: 'message.type',
  type_unsupported_by_channel: 'message.type',
  text_empty: 'message.message',
  text_too_long: 'message.message',
  text_has_control: 'message.message',
  text_has_nul: 'message.message',
  text_not_unicode: 'message.message',
  name_malformed: 'message.media.name',
  url_malformed: 'message.media.url',
  sample_unknown: 'message.media.url',
  url_has_credentials: 'message.media.url',
  url_port_refused: 'message.media.url',
  url_not_public: 'message.media.url',
}

const REFUSALS = '#/components/schemas/RefusalResponse'
const SUCCESS = '#/components/schemas/SendMessageResponse'

/** All replies by status; those with the same status share a description. */
export function buildResponses(refusals: readonly DocumentedRefusal[]): Record<string, object> {
  const byStatus = Map.groupBy(refusals, ({ status }) => status)
  const refused = [...byStatus].map(([status, sharing]) => [String(status), refusedResponse(sharing)] as const)
  return { [String(REPLIES.success.status)]: successResponse(), ...Object.fromEntries(refused) }
}

function successResponse() {
  return {
    description: describe('success'),
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      'x-message-id': { $ref: '#/components/headers/MessageId' },
    },
    content: {
      'application/json': {
        schema: { $ref: SUCCESS },
        examples: {
          success: { summary: 'Accepted', value: successBody('QUEUED') },
          published: {
            summary: 'A repeat under the same Idempotency-Key whose message has left by then',
            value: successBody('PUBLISHED'),
          },
        },
      },
    },
  }
}

function refusedResponse(refusals: readonly DocumentedRefusal[]) {
  const kinds = [...new Set(refusals.map(({ kind }) => kind))]
  const saysWhen = refusals.every((refusal) => refusal.saysWhen)
  return {
    description: descriptionOf(refusals, kinds),
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      ...(saysWhen && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: REFUSALS },
            {
              type: 'object',
              properties: {
                code: { enum: kinds.map((kind) => REPLIES[kind].code) },
                name: { enum: kinds.map((kind) => REPLIES[kind].name) },
              },
            },
          ],
        },
        examples: Object.fromEntries(refusals.map((refusal) => [refusal.code, exampleOf(refusal)])),
      },
    },
  }
}

function descriptionOf(refusals: readonly DocumentedRefusal[], kinds: readonly RefusalReplyKind[]): string {
  const isUsual = refusals.some(({ kind, status }) => REPLIES[kind].status === status)
  if (isUsual) return kinds.map(describe).join('\n\n')
  return `The HTTP request itself is not in order. ${refusals.map(({ message }) => message).join(' ')}`
}

function describe(kind: keyof typeof REPLIES): string {
  const { code, name, when } = REPLIES[kind]
  return `${code} \`${name}\`: ${when}`
}

function exampleOf({ code, kind, message }: DocumentedRefusal) {
  const error = code === 'number_malformed' ? malformedNumber() : { field: FIELD_OF[code] ?? null, code, message }
  return { summary: code, value: refusalBody(kind, [error]) }
}

/** The error whose message depends on the given value. */
function malformedNumber() {
  const parsed = parseSendMessage({
    from: '14155550100',
    to: '+1 415-555-0123',
    message: { type: 'message', message: 'Hello' },
  })
  const [error] = parsed.ok ? [] : parsed.errors
  if (!error) throw new Error('A number with a plus was taken for one in order')
  return error
}
