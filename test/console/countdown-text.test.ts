import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { countdownText } from '../../console/features/connections/countdown-text.ts'

const OF_ONE = { number: 1, of: 1 }
const OF_SIX = { number: 2, of: 6 }

describe('the countdown of a code that links a phone', () => {
  it('says how long it is valid, or when the next one comes', () => {
    assert.equal(countdownText(OF_ONE, 180), 'Valid for 3 min')
    assert.equal(countdownText(OF_ONE, 148), 'Valid for 2 min 28 s')
    assert.equal(countdownText(OF_SIX, 20), 'New code in 20 s')
  })

  it('says what it waits for after its time is over', () => {
    assert.equal(countdownText(OF_ONE, 0), 'Expired. Waiting for the phone…')
    assert.equal(countdownText(OF_SIX, 0), 'The next code comes in a moment…')
  })

  it('treats the last of several codes as one that is not replaced', () => {
    assert.equal(countdownText({ number: 6, of: 6 }, 20), 'Valid for 20 s')
  })
})
