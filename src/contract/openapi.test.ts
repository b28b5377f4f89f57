import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'
import type { DocumentedRefusal } from './openapi-replies.ts'
import { REPLIES } from './reply-table.ts'
import { parseSendMessage } from './send-message.ts'

const run = promisify(execFile)
// One of each kind, and one with its own status. The contract test reads the service's real refusals.
const REFUSED: readonly DocumentedRefusal[] = [
  ...Object.entries(REPLIES).flatMap(([kind, { status }]) =>
    kind === 'success' ? [] : [refusal(`${kind}_code`, kind as DocumentedRefusal['kind'], status)],
  ),
  refusal('request_too_slow', 'bad_request', 408),
]
// biome-ignore lint/suspicious/noExplicitAny: the document is read as any client reads it
const document = buildOpenApi('https://send.nuncio.org', REFUSED) as any
const operation = document.paths['/chat/api/v1/public/message/send'].post

describe('the OpenAPI document', () => {
  it('passes the linter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nuncio-openapi-'))
    try {
      const file = join(folder, 'openapi.json')
      await writeFile(file, JSON.stringify(document))

      const { stderr } = await run(
        process.execPath,
        ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--extends=recommended', '--format=stylish'],
        { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' } },
      )

      assert.doesNotMatch(stderr, /warning|error/i)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('names the operation and the token header as the interface does', () => {
    assert.equal(operation.operationId, 'sendMessage')
    assert.deepEqual(document.security, [{ apiToken: [] }])
    const { type, in: place, name } = document.components.securitySchemes.apiToken
    assert.deepEqual({ type, place, name }, { type: 'apiKey', place: 'header', name: 'x-api-key' })
  })

  it('has a valid example of every type', () => {
    const examples = operation.requestBody.content['application/json'].examples

    assert.deepEqual(Object.keys(examples), ['message', 'image', 'document', 'video', 'audio'])
    for (const [type, { value }] of Object.entries<{ value: { message: { type: string } } }>(examples)) {
      assert.equal(value.message.type, type)
      assert.equal(parseSendMessage(value).ok, true)
    }
  })

  it('has every reply with its headers and an example', () => {
    const statuses = new Set(['200', ...REFUSED.map(({ status }) => String(status))])
    assert.deepEqual(new Set(Object.keys(operation.responses)), statuses)

    assert.deepEqual(Object.keys(operation.responses[200].headers), ['x-request-id', 'x-message-id'])
    for (const { code, kind, status } of REFUSED) {
      const { headers, content } = operation.responses[status]
      assert.equal(content['application/json'].examples[code].value.code, REPLIES[kind].code)
      assert.ok(headers['x-request-id'])
      assert.equal('x-message-id' in headers, false)
      assert.equal('Retry-After' in headers, status === 429 || status === 503)
    }
    for (const header of Object.values<{ required: boolean }>(document.components.headers)) assert.ok(header.required)
  })

  it('lists the codes of each status', () => {
    const [, narrowed] = operation.responses[404].content['application/json'].schema.allOf

    assert.deepEqual(narrowed.properties.code.enum, ['HC-5', 'HC-6'])
  })

  it('contains the refusals that were passed in', () => {
    const { value } = operation.responses[401].content['application/json'].examples.unauthorized_code

    assert.equal(value.data.errors[0].message, 'The sentence of unauthorized_code.')
  })
})

function refusal(code: string, kind: DocumentedRefusal['kind'], status: number): DocumentedRefusal {
  const saysWhen = kind === 'too_many_requests' || kind === 'unavailable'
  return { code, kind, status, message: `The sentence of ${code}.`, saysWhen }
}
