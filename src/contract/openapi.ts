import { z } from 'zod'
import {
  REPLIES,
  type RefusalReplyKind,
  type RefusalResponse,
  type ReplyKind,
  refusalBody,
  refusalResponse,
  type SendMessageResponse,
  sendMessageResponse,
  successBody,
} from './replies.ts'
import {
  audioItem,
  audioMessage,
  mediaItem,
  mediaMessage,
  parseSendMessage,
  type SendMessageRequest,
  sendMessageRequest,
  textMessage,
} from './send-message.ts'

/** The version of the interface, which is not that of the software. */
const INTERFACE_VERSION = '1.0.0'

/** Refusal code → the sentence callers read. */
type Sentences = Readonly<Record<string, string>>

/** The OpenAPI 3.1 document of the public endpoint, made of the very shapes that requests are checked with. */
export function buildOpenApi(publicUrl: string, sentences: Sentences): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Nuncio: outbound messaging',
      version: INTERFACE_VERSION,
      summary: 'Send a chat message from one of your connected numbers to a recipient.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl, description: 'This installation' }],
    tags: [{ name: 'Messages', description: 'Sending messages' }],
    security: [{ apiToken: [] }],
    paths: { '/chat/api/v1/public/message/send': { post: sendOperation(sentences) } },
    components: {
      securitySchemes: {
        apiToken: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description:
            'A personal access token with the event Messaging > Send Message. Keep it secret; never use it in a browser.',
        },
      },
      headers: HEADERS,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      schemas: buildSchemas(),
    },
  }
}

const DESCRIPTION = `A 200 means that the message is committed to durable storage and waits in the queue of its sender number.
It says nothing about delivery: look into the API log for that. The messages of a number are sent one by one, in the
order in which they were accepted.`

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes it safe to send the same request again: within 24 hours the same key and body give the answer of the first time, and nothing is queued. The same key with another body is refused.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  example: 'order-4711-shipped',
}

const HEADERS = {
  RequestId: {
    description: 'The id of this request; finds it in the API log.',
    schema: { type: 'string' },
    example: 'k3f9x2ab-1z',
  },
  MessageId: {
    description: 'The id of the message.',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c7a0-5f2e-7c3b-9d41-6b8a2f1e0c57',
  },
  RetryAfter: {
    description: 'Seconds to wait before sending again.',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
}

const FROM = '14155550100'
const TO = '14155550123'
const REQUEST_EXAMPLES = {
  message: example('Plain text', { type: 'message', message: 'Your parcel arrives tomorrow between 9 and 11.' }),
  image: example('Image', { type: 'image', media: media('parcel.jpg', 'Your parcel') }),
  document: example('Document', { type: 'document', media: media('invoice.pdf', 'Invoice 4711') }),
  video: example('Video', { type: 'video', media: media('how-to-open.mp4', '') }),
  audio: example('Audio, which has no caption', { type: 'audio', media: media('greeting.mp3') }),
}

function example(summary: string, message: SendMessageRequest['message']) {
  return { summary, value: { from: FROM, to: TO, message } satisfies SendMessageRequest }
}

function media(name: string, caption?: string) {
  const url = `https://files.example.com/${name}`
  return caption === undefined ? { name, url } : { name, url, caption }
}

function sendOperation(sentences: Sentences) {
  return {
    operationId: 'sendMessage',
    tags: ['Messages'],
    summary: 'Send a message',
    description: 'One endpoint for every type of message; `message.type` selects it.',
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }],
    requestBody: {
      required: true,
      description:
        'At most 64 KiB of strict JSON: no key twice in an object, at most 8 levels deep. Unknown fields are ignored.',
      content: {
        'application/json': { schema: { $ref: schemaRef('SendMessageRequest') }, examples: REQUEST_EXAMPLES },
      },
    },
    responses: buildResponses(sentences),
  }
}

/** Two kinds of reply share the status 404, so replies are gathered by status. */
function buildResponses(sentences: Sentences) {
  const kinds = Object.keys(REPLIES) as ReplyKind[]
  const byStatus = Map.groupBy(kinds, (kind) => REPLIES[kind].status)
  return Object.fromEntries(
    [...byStatus].map(([status, sharing]) => [String(status), buildResponse(sharing, sentences)]),
  )
}

function buildResponse(kinds: readonly ReplyKind[], sentences: Sentences) {
  const isSuccess = kinds.includes('success')
  const mayRetry = kinds.some((kind) => kind === 'too_many_requests' || kind === 'unavailable')
  return {
    description: kinds
      .map((kind) => `${REPLIES[kind].code} \`${REPLIES[kind].name}\`: ${REPLIES[kind].when}`)
      .join('\n\n'),
    headers: {
      'x-request-id': { $ref: '#/components/headers/RequestId' },
      ...(isSuccess && { 'x-message-id': { $ref: '#/components/headers/MessageId' } }),
      ...(mayRetry && { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }),
    },
    content: {
      'application/json': {
        schema: { $ref: schemaRef(isSuccess ? 'SendMessageResponse' : 'RefusalResponse') },
        examples: Object.fromEntries(kinds.map((kind) => [kind, { value: exampleBody(kind, sentences) }])),
      },
    },
  }
}

/** What each kind of refusal may look like. The sentences are those of the service, handed in by it. */
function exampleBody(kind: ReplyKind, sentences: Sentences): SendMessageResponse | RefusalResponse {
  switch (kind) {
    case 'success':
      return successBody('QUEUED')
    case 'bad_request': {
      const [error] = refusedNumber()
      return refusalBody(kind, error ? [error] : [])
    }
    default: {
      const [field, code] = EXAMPLE_ERRORS[kind]
      return refusalBody(kind, [{ field, code, message: sentences[code] ?? '' }])
    }
  }
}

function refusedNumber() {
  const value = { ...REQUEST_EXAMPLES.message.value, to: '+1 415-555-0123' }
  const parsed = parseSendMessage(value)
  return parsed.ok ? [] : parsed.errors
}

const EXAMPLE_ERRORS: Record<
  Exclude<RefusalReplyKind, 'bad_request'>,
  readonly [field: string | null, code: string]
> = {
  unauthorized: ['x-api-key', 'unauthorized'],
  access_denied: [null, 'event_missing'],
  connection_not_found: ['from', 'connection_not_found'],
  route_not_found: [null, 'route_not_found'],
  too_many_requests: [null, 'connection_backlog_full'],
  internal_error: [null, 'internal_error'],
  unavailable: [null, 'commit_unknown'],
}

/** The schemas by name. zod names and links them; the discriminator is ours to add. */
function buildSchemas(): Record<string, unknown> {
  const named = z.registry<{ readonly id: string }>()
  for (const [id, schema] of Object.entries(NAMED_SCHEMAS)) named.add(schema, { id })
  const { schemas } = z.toJSONSchema(named, {
    io: 'input',
    uri: schemaRef,
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema instanceof z.ZodDiscriminatedUnion)
        jsonSchema['discriminator'] = { propertyName: 'type', mapping: TYPE_MAPPING }
    },
  })
  // These two say where a schema stands by itself. Inside the document its place says so.
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]))
}

const NAMED_SCHEMAS = {
  SendMessageRequest: sendMessageRequest,
  TextMessage: textMessage,
  MediaMessage: mediaMessage,
  AudioMessage: audioMessage,
  MediaItem: mediaItem,
  AudioItem: audioItem,
  SendMessageResponse: sendMessageResponse,
  RefusalResponse: refusalResponse,
}

const TYPE_MAPPING: Record<SendMessageRequest['message']['type'], string> = {
  message: schemaRef('TextMessage'),
  image: schemaRef('MediaMessage'),
  document: schemaRef('MediaMessage'),
  video: schemaRef('MediaMessage'),
  audio: schemaRef('AudioMessage'),
}

function schemaRef(id: string): string {
  return `#/components/schemas/${id}`
}
