import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { hasEntityTag } from './docs-pages.ts'

describe('a header If-None-Match', () => {
  it.each([
    ['W/"a"', true],
    ['"b" ,\tW/"a"', true],
    [' W/"a" , "b"', true],
    ['"b",W/"ab"', false],
    ['', false],
    [undefined, false],
  ])('%j names the tag: %s', (header, expected) => {
    assert.equal(hasEntityTag(header, 'W/"a"'), expected)
  })
})
