import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { SENDER, startNuncio } from '../support/journey/start-nuncio.ts'
import { ApiCaller } from '../support/openapi/api-caller.ts'
import type { ApiDocument } from '../support/openapi/api-document.ts'
import { callAll, findingsIn, GOOD, readDocument } from '../support/openapi/drive-endpoint.ts'
import { RequestMaker } from '../support/openapi/make-requests.ts'
import { ReplyChecker } from '../support/openapi/reply-checker.ts'

// `test/contract/openapi-contract.test.ts` drives the service by its document, on both engines.
describe('the checks by the document', () => {
  it('notice a rule or a reply that differs', async () => {
    const journey = await startNuncio()
    const document = await readDocument(journey.url)
    const caller = new ApiCaller(document, journey)
    const maker = new RequestMaker(document, { from: SENDER })
    const replies = (await callAll(caller, [...maker.examples(), ...maker.bad().slice(0, 30)])).map(
      ({ reply }) => reply,
    )
    const countFaults = (changed: ApiDocument) => {
      const checker = new ReplyChecker(changed)
      return replies.flatMap((reply) => checker.check(reply)).length
    }

    assert.equal(countFaults(document), 0)
    for (const [what, changed] of changedReplies(document)) assert.notEqual(countFaults(changed), 0, what)
    for (const [what, { at, changed }] of changedRules(document)) {
      const made = new RequestMaker(changed, { from: SENDER })
      const asBad = made.bad().filter(({ what: field }) => field.startsWith(at))
      const found = [
        ...findingsIn(changed, 200, await callAll(caller, made.good(GOOD))),
        ...findingsIn(changed, 400, await callAll(caller, asBad)),
      ]
      assert.notEqual(found.length, 0, what)
    }
  })
})

// biome-ignore lint/suspicious/noExplicitAny: what is changed has no shape that could be relied on
type Change = (document: any) => void
const SEND = '/chat/api/v1/public/message/send'
const JSON_TYPE = 'application/json'

/** Copies of the document that each have one changed reply, which the replies of the service must no longer match. */
function changedReplies(document: ApiDocument): (readonly [what: string, changed: ApiDocument])[] {
  const responsesOf = (changed: Parameters<Change>[0]) => changed.paths[SEND].post.responses
  const changes: Readonly<Record<string, Change>> = {
    'a status that occurs is left out': (changed) => delete responsesOf(changed)[400],
    'another code of success': (changed) => {
      changed.components.schemas.SendMessageResponse.properties.code.const = 'HC-0'
    },
    'a field more than there is': (changed) => changed.components.schemas.SendMessageResponse.required.push('id'),
    'a field less than there is': (changed) => delete changed.components.schemas.SendMessageResponse.properties.message,
    'a header that is not named': (changed) => delete responsesOf(changed)[200].headers['x-message-id'],
    'a header that does not come': (changed) => {
      responsesOf(changed)[400].headers['Retry-After'] = { $ref: '#/components/headers/RetryAfter' }
    },
    'another form of a header': (changed) => {
      changed.components.headers.MessageId.schema = { type: 'string', pattern: '^[0-9]+$' }
    },
    'the code of another refusal': (changed) => {
      responsesOf(changed)[400].content[JSON_TYPE].schema.allOf[1].properties.code.enum = ['HC-3']
    },
    'a refusal without an example': (changed) =>
      delete responsesOf(changed)[400].content[JSON_TYPE].examples.field_required,
  }
  return Object.entries(changes).map(([what, change]) => [what, changedBy(document, change)] as const)
}

/** Copies of the document that each have one changed rule, so that requests made from them get other replies. */
function changedRules(document: ApiDocument) {
  const fieldOf = (changed: Parameters<Change>[0], schema: string, field: string) =>
    changed.components.schemas[schema].properties[field]
  const changes: Readonly<Record<string, readonly [at: string, change: Change]>> = {
    'a pattern is left out': ['to', (changed) => delete fieldOf(changed, 'SendMessageRequest', 'to').pattern],
    'a shorter text': [
      'message.message',
      (changed) => {
        fieldOf(changed, 'TextMessage', 'message').maxLength = 100
      },
    ],
    'a longer text': [
      'message.message',
      (changed) => {
        fieldOf(changed, 'TextMessage', 'message').maxLength = 5_000
      },
    ],
    'a field that need not be sent': [
      'message.media',
      (changed) => {
        changed.components.schemas.MediaItem.required = ['url']
      },
    ],
    'a field that must be sent': [
      'message.media',
      (changed) => changed.components.schemas.MediaItem.required.push('caption'),
    ],
    'a type that there is not': [
      'message.type',
      (changed) => fieldOf(changed, 'MediaMessage', 'type').enum.push('sticker'),
    ],
  }
  return Object.entries(changes).map(
    ([what, [at, change]]) => [what, { at, changed: changedBy(document, change) }] as const,
  )
}

function changedBy(document: ApiDocument, change: Change): ApiDocument {
  const copy = structuredClone(document)
  change(copy)
  return copy
}
