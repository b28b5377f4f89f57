import { z } from 'zod'
import { buildResponses, type DocumentedRefusal } from './openapi-replies.ts'
import { refusalResponse, sendMessageResponse } from './replies.ts'
import { SAMPLES, SAMPLES_PATH } from './samples.ts'
import {
  audioItem,
  audioMessage,
  mediaItem,
  mediaMessage,
  type SendMessageRequest,
  sendMessageRequest,
  textMessage,
} from './send-message.ts'

/** The version of the interface, which is not that of the software. */
const INTERFACE_VERSION = '1.0.0'

/** The OpenAPI 3.1 document of the public endpoint, made from the shapes that requests are validated with. */
export function buildOpenApi(publicUrl: string, refusals: readonly DocumentedRefusal[]): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Nuncio: outbound messaging',
      version: INTERFACE_VERSION,
      summary: 'Send a chat message from one of your connected numbers to a recipient.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { url: `${publicUrl}/docs/`, description: 'Guides, concepts and what each refusal means' },
    servers: [{ url: publicUrl, description: 'This installation' }],
    tags: [{ name: 'Messages', description: 'Sending messages' }],
    security: [{ apiToken: [] }],
    paths: { '/chat/api/v1/public/message/send': { post: sendOperation(publicUrl, refusals) } },
    components: {
      securitySchemes: {
        apiToken: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description:
            'A personal access token with the event Messaging > Send Message, sent once. Keep it secret; never use it in client-side code.',
        },
      },
      headers: HEADERS,
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      schemas: buildSchemas(),
    },
  }
}

const DESCRIPTION = `A 200 means that the message is committed to durable storage and waits in the queue of its sender number.
It says nothing about delivery: see the API log for that. The messages of a number are sent one by one, to each
recipient in the order in which they were accepted.

Limits: 64 KiB for a body, 4,096 characters for a text, 1,024 for a caption. The operator may limit how many messages of a number
or an account wait, and how many of an account are taken in a second: beyond that a request is answered with 429 and the seconds
to wait. The channel of a number may allow less than is written here. What can be checked at once is then refused with 400; the
rest fails later, with its reason in the API log.`

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
    required: true,
    description: 'The id of this request; finds it in the API log of the account whose token it had.',
    schema: { type: 'string', minLength: 1 },
    example: 'k3f9x2ab-1z',
  },
  MessageId: {
    required: true,
    description: 'The id of the message; a repeat under the same Idempotency-Key gets that of the first time.',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c7a0-5f2e-7c3b-9d41-6b8a2f1e0c57',
  },
  RetryAfter: {
    required: true,
    description: 'Seconds to wait before sending again.',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
}

const FROM = '14155550100'
const TO = '14155550123'

/** With the sample files of the service, so that each example can be sent as it is. */
function requestExamples(publicUrl: string) {
  const media = (type: keyof typeof SAMPLES) => ({
    name: SAMPLES[type],
    url: `${publicUrl}${SAMPLES_PATH}/${SAMPLES[type]}`,
  })
  return {
    message: example('Plain text', { type: 'message', message: 'Your parcel arrives tomorrow between 9 and 11.' }),
    image: example('Image', { type: 'image', media: { ...media('image'), caption: 'Your parcel' } }),
    document: example('Document', { type: 'document', media: { ...media('document'), caption: 'Invoice 4711' } }),
    video: example('Video', { type: 'video', media: { ...media('video'), caption: '' } }),
    audio: example('Audio, which has no caption', { type: 'audio', media: media('audio') }),
  }
}

function example(summary: string, message: SendMessageRequest['message']) {
  return { summary, value: { from: FROM, to: TO, message } satisfies SendMessageRequest }
}

function sendOperation(publicUrl: string, refusals: readonly DocumentedRefusal[]) {
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
        'application/json': {
          schema: { $ref: schemaRef('SendMessageRequest') },
          examples: requestExamples(publicUrl),
        },
      },
    },
    responses: buildResponses(refusals),
  }
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
  // Only needed in separate schema files, not inside a document.
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
