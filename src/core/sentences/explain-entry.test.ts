import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { timelineTitle } from './explain-entry.ts'

describe('the title of an entry in the timeline', () => {
  it.each([
    ['media-retry', 1, 'Download failed, try 1 of 4'],
    ['media-failed', 4, 'File not downloaded, try 4 of 4'],
    ['media-failed', 1, 'File not downloaded'],
  ])('counts the tries of a download: %s, try %i', (kind, tries, title) => {
    assert.equal(timelineTitle({ kind, facts: { tries } }, { channel: 'sandbox' }), title)
  })
})
