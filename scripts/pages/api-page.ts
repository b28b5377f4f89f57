import { buildOpenApi } from '../../src/contract/openapi.ts'
import { REPLIES } from '../../src/contract/reply-table.ts'
import { documentedRefusals } from '../../src/http/server/refusal-replies.ts'
import { codeBlock, markdownTable } from './markdown.ts'

// The parts of the OpenAPI document that this page uses. The document is generated from the shapes that validate requests.
interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly $ref?: string
}

interface Example {
  readonly summary?: string
  readonly value: unknown
}

interface Operation {
  readonly requestBody: { readonly description: string; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content: Content }>>
}

type Content = Readonly<Record<string, { readonly examples: Readonly<Record<string, Example>> }>>

interface Header {
  readonly description: string
  readonly example: unknown
}

interface Document {
  readonly info: { readonly description: string; readonly version: string }
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly headers: Readonly<Record<string, Header>>
    readonly parameters: { readonly IdempotencyKey: Header }
    readonly securitySchemes: { readonly apiToken: { readonly description: string } }
  }
}

const JSON_TYPE = 'application/json'
// A longer pattern explains less than the words beside it.
const MOST_PATTERN = 40
const BASE_URL = 'http://127.0.0.1:8080'

/** The text of docs/api.md. */
export function makeApiPage(): string {
  const document = buildOpenApi(BASE_URL, documentedRefusals()) as Document
  const [path = '', item] = Object.entries(document.paths)[0] ?? []
  if (!item) throw new Error('The OpenAPI document has no path')
  const { post } = item
  return `# The endpoint

\`POST ${path}\` is the whole public interface (version ${document.info.version}). A running service
shows the same as an OpenAPI 3.1 document at \`/openapi.json\`, and this page at \`/docs/api\`, where you can try a call.

${document.info.description}

## Try a call

The first start prints a token and makes the sandbox number 15550001000. It delivers to every recipient but
[eight](guides/sandbox-commands.md), which fail on request.

<!-- try-a-call -->

${request(document, post)}
${replies(document, post)}
## Other surfaces

| Path | Who may ask | What it answers |
|---|---|---|
| \`GET /health/live\` | anyone | 200 while the process answers |
| \`GET /health/ready\` | anyone | 200 while it accepts and dispatches, else 503 with the names of what does not work |
| \`GET /metrics\` | see [metrics](metrics.md) | metrics for Prometheus |
| \`GET /openapi.json\` | anyone | the description of the endpoint |
| \`GET /docs/\` | anyone | the documents |
`
}

function request({ components }: Document, { requestBody }: Operation): string {
  const { schemas, parameters, securitySchemes } = components
  const headers = [
    ['`x-api-key`', 'yes', securitySchemes.apiToken.description],
    ['`Content-Type`', 'yes', '`application/json`; a charset of utf-8 is allowed.'],
    ['`Idempotency-Key`', 'no', `${parameters.IdempotencyKey.description} See [safe retries](guides/safe-retries.md).`],
  ]
  return `## Request

${markdownTable(['Header', 'Required', 'Means'], headers)}

${requestBody.description}

${fieldTable('The body', fieldsOf(schemas, 'SendMessageRequest'))}

${fieldTable('`message` of type `message`', fieldsOf(schemas, 'TextMessage'))}

${fieldTable('`message` of type `image`, `document` or `video`', fieldsOf(schemas, 'MediaMessage'))}

${fieldTable('`message` of type `audio`', fieldsOf(schemas, 'AudioMessage'))}

${Object.values(requestBody.content[JSON_TYPE]?.examples ?? {})
  .map(({ summary = '', value }) => `### ${summary}\n\n${codeBlock('json', JSON.stringify(value, null, 2))}\n`)
  .join('\n')}`
}

function replies({ components }: Document, { responses }: Operation): string {
  const rows = Object.values(REPLIES).map(({ status, code, name, when }) => [String(status), code, `\`${name}\``, when])
  const { RequestId, MessageId, RetryAfter } = components.headers
  const examples = Object.values(REPLIES).map((reply) => ({ reply, value: exampleOf(responses, reply) }))
  return `## Replies

${markdownTable(['HTTP', 'code', 'name', 'When'], rows)}

Requests that the HTTP parser itself refuses get its own status (405, 408, 417, 431, 505) with the code HC-2. The OpenAPI document has
an example of each. All errors are listed in [refusals](refusals.md). The order of the checks is 401, 403, 429, 400, 403 for a connection that the token
is not bound to, 404; all errors of the fields are reported together.

${markdownTable(
  ['Header', 'On', 'Means'],
  [
    ['`x-request-id`', 'every reply', RequestId?.description ?? ''],
    ['`x-message-id`', '200', MessageId?.description ?? ''],
    ['`Retry-After`', '429, 503', RetryAfter?.description ?? ''],
  ],
)}

${fieldTable('A success', fieldsOf(components.schemas, 'SendMessageResponse'))}

${fieldTable('A refusal', fieldsOf(components.schemas, 'RefusalResponse'))}

${examples.map(({ reply, value }) => `### ${headingOf(reply)}\n\n${codeBlock('json', JSON.stringify(value))}\n`).join('\n')}`
}

type ReplyLine = (typeof REPLIES)[keyof typeof REPLIES]

function headingOf({ status, code, name }: ReplyLine): string {
  return `${status}, ${code}: \`${name}\``
}

// The refusals that people meet first. The document has all of them.
const TELLING = ['number_malformed', 'event_missing', 'connection_backlog_full', 'commit_unknown']

function exampleOf(responses: Operation['responses'], { status, code }: ReplyLine): unknown {
  const examples = Object.entries(responses[status]?.content[JSON_TYPE]?.examples ?? {})
  const fitting = examples.filter(([, { value }]) => (value as { readonly code?: string }).code === code)
  return (fitting.find(([name]) => TELLING.includes(name)) ?? fitting[0])?.[1].value
}

function fieldTable(title: string, rows: readonly (readonly string[])[]): string {
  return `${title}:\n\n${markdownTable(['Field', 'Required', 'Rule'], rows)}`
}

/** The fields of a schema, including nested ones, by their path. */
function fieldsOf(schemas: Document['components']['schemas'], name: string, before = ''): string[][] {
  return propertiesOf(schemas, schemas[name], before)
}

function propertiesOf(
  schemas: Document['components']['schemas'],
  schema: Schema | undefined,
  before: string,
): string[][] {
  return Object.entries(schema?.properties ?? {}).flatMap(([key, property]) => {
    const path = `${before}${key}`
    const target = property.$ref === undefined ? property : schemas[property.$ref.split('/').at(-1) ?? '']
    const below = target?.items ? { at: `${path}[].`, of: target.items } : { at: `${path}.`, of: target }
    const required = schema?.required?.includes(key) ? 'yes' : 'no'
    return [[`\`${path}\``, required, ruleOf(target)], ...propertiesOf(schemas, below.of, below.at)]
  })
}

function ruleOf(schema: Schema | undefined): string {
  if (!schema) return ''
  const limits = [schema.minLength && `at least ${schema.minLength}`, schema.maxLength && `at most ${schema.maxLength}`]
  const length = limits.filter(Boolean).join(', ')
  return [
    valuesOf(schema),
    length && `Characters: ${length}.`,
    schema.pattern && schema.pattern.length <= MOST_PATTERN && `Pattern: \`${schema.pattern}\`.`,
    schema.description,
  ]
    .filter(Boolean)
    .join(' ')
}

function valuesOf({ const: only, enum: values, type, properties, items }: Schema): string {
  if (only !== undefined) return `\`${JSON.stringify(only)}\`.`
  if (values) return `One of ${values.map((value) => `\`${JSON.stringify(value)}\``).join(', ')}.`
  if (properties) return 'An object.'
  if (items) return 'An array of objects.'
  if (type === undefined) return 'An object; its fields depend on its `type`, see below.'
  return typeof type === 'string' ? `A ${type}.` : `A ${type.join(' or ')}.`
}
