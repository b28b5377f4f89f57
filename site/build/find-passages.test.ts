import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { curlOf } from '../browser/curl-of.ts'
import { findPassages } from '../browser/find-passages.ts'
import type { SearchIndex } from '../browser/search-index.ts'

const INDEX: SearchIndex = {
  pages: [
    ['/docs/tokens', 'Tokens', 'Guides'],
    ['/docs/retries', 'Safe retries', 'Guides'],
    ['/docs/decisions/0006', 'Bad tokens', 'Decisions'],
  ],
  passages: [
    [0, '', 'Tokens', 'A token is shown once. After commit_unknown send again.'],
    [0, 'rotate', 'Rotating', 'The old token goes on for a while.'],
    [1, 'which', 'Which answer may be sent again', 'After commit_unknown send again with the same key.'],
    [2, 'why', 'A token that is bad', 'A token of zeros is a token, too.'],
  ],
}

describe('the search in the documents', () => {
  it('puts a page of that name first, then headings, then texts', () => {
    assert.deepEqual(
      findPassages(INDEX, 'tokens').map(({ address }) => address),
      ['/docs/tokens', '/docs/tokens#rotate', '/docs/decisions/0006#why'],
    )
    assert.equal(findPassages(INDEX, 'token')[0]?.address, '/docs/tokens')
    assert.equal(findPassages(INDEX, 'rotating')[0]?.address, '/docs/tokens#rotate')
  })

  it('needs all words, anywhere in page, heading or text, and matches beginnings of words', () => {
    assert.deepEqual(
      findPassages(INDEX, 'RETRI commit_unknown').map(({ address }) => address),
      ['/docs/retries#which'],
    )
    assert.deepEqual(findPassages(INDEX, 'token zebra'), [])
    assert.deepEqual(findPassages(INDEX, ' … '), [])
  })

  it('accepts a whole question, and a few missing words of many', () => {
    const addresses = (query: string) => findPassages(INDEX, query).map(({ address }) => address)

    assert.equal(addresses('How is rotating a token done?')[0], '/docs/tokens#rotate')
    assert.equal(addresses('answer again zebra')[0], '/docs/retries#which')
    assert.deepEqual(addresses('what is the zebra'), [])
  })

  it('shows the words around what was found', () => {
    assert.match(findPassages(INDEX, 'same key')[0]?.excerpt ?? '', /same key/)
  })
})

describe('the curl of a call', () => {
  it('survives a shell, whatever is in it, and names the token without showing it', () => {
    const curl = curlOf({ url: 'http://127.0.0.1:8080/send', key: "it's", body: '{"a":"$HOME `b` \'c\'"}' })

    assert.match(curl, /-H "x-api-key: \$NUNCIO_TOKEN"/)
    assert.match(curl, /'idempotency-key: it'\\''s'/)
    assert.match(curl, /-d '\{"a":"\$HOME `b` '\\''c'\\''"\}'/)
  })

  it('leaves out a missing key', () => {
    assert.doesNotMatch(curlOf({ url: 'http://a', key: '', body: '{}' }), /idempotency/)
  })
})
