import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findWords } from './check-words.ts'

describe('the check of words', () => {
  it.each([
    ['a comment', '// The judge looks again.', 2],
    ['a name', 'const toldLines = tellAll()', 2],
    ['a constant', 'const LOOK_EVERY_MS = 1', 1],
    ['SQL', '-- nobody waits', 1],
  ])('finds the words in %s, with the line and the term to use', (_, text, count) => {
    const found = findWords(new Map([['src/core/lane.ts', `\n${text}`]]), {})

    assert.equal(found.length, count)
    assert.equal(found[0]?.line, 2)
    assert.match(found[0]?.remedy ?? '', /^say /)
  })

  it.each(['lookUpToken()', 'tokenLookUp', 'a look-up', 'lookups', 'allotted', "reason: 'trouble'"])(
    'lets %s pass',
    (text) => {
      assert.deepEqual(findWords(new Map([['src/core/lane.ts', text]]), {}), [])
    },
  )

  it('allows a folder as many as its number says, and no more', () => {
    const tree = new Map([['src/core/lane.ts', 'told told']])

    assert.deepEqual(findWords(tree, { 'src/core': 2 }), [])
    assert.match(findWords(tree, { 'src/core': 1 })[0]?.problem ?? '', /holds 2 .* more than 1/)
  })
})
