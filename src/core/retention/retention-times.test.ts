import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkOwnTimes } from './retention-times.ts'

const INSTALLATION = { bodiesDays: 30, messagesDays: 90 }
const TEXTS = 'Texts can be kept for 1 to 3650 days, in whole days.'
const MESSAGES = 'Messages are kept for 90 days in this installation: an account can have less, not more.'

describe('the times that an account wants for itself', () => {
  it.each([
    [{ bodiesDays: 7, messagesDays: null }, null],
    [{ bodiesDays: 0, messagesDays: null }, TEXTS],
    [{ bodiesDays: 0, messagesDays: 91 }, `${TEXTS} ${MESSAGES}`],
    [
      { bodiesDays: 20, messagesDays: 10 },
      'Texts cannot be kept longer (20 days) than the messages they belong to (10 days).',
    ],
  ])('have all their faults named at once: %j', (own, sentence) => {
    assert.equal(checkOwnTimes(own, INSTALLATION), sentence)
  })
})
