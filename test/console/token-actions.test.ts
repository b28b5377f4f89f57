import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { localDateTime } from '../../console/components/instants.ts'
import { choiceText, rowActions, usageText } from '../../console/features/tokens/token-labels.ts'

const DAY_MS = 86_400_000
const now = Date.now()
const active = { createdAt: now, expiresAt: now + 30 * DAY_MS, deletedAt: null }

const offered = (token: Parameters<typeof rowActions>[0], mayChange = true) =>
  rowActions(token, mayChange).map(({ label }) => label)

describe('the menu of a token', () => {
  it('offers the possible actions, with deleting last', () => {
    const reading = ['Details', 'Show its requests']

    assert.deepEqual(offered(active), [...reading, 'Rename…', 'Rotate…', 'Delete…'])
    assert.deepEqual(offered({ ...active, expiresAt: now - 1 }), [...reading, 'Rename…', 'Delete…'])
    assert.deepEqual(offered({ ...active, deletedAt: now }), reading)
  })

  it('offers viewers only what they may do', () => {
    assert.deepEqual(offered(active, false), ['Details', 'Show its requests'])
  })
})

describe('the choices for a new token', () => {
  const [SENDS, LIMITED] = [
    ['messaging.send_message'],
    { numbers: ['15550001000', '15550001010'], sourceRanges: ['::1'] },
  ]
  const all = { name: ' shop ', events: SENDS, numbers: null, sourceRanges: null, end: null }

  it.each([
    [all, 'shop may send messages from all numbers of this account, new ones too.'],
    [
      { ...all, ...LIMITED, name: '', end: now },
      `This token may send messages from 15550001000, 15550001010, only when called from ::1, until ${localDateTime(now)}.`,
    ],
    [{ ...all, events: [] }, 'shop may do nothing: each request with it is refused.'],
  ])('are repeated in one sentence: %#', (choice, sentence) => {
    assert.equal(choiceText(choice), sentence)
  })
})

describe('the use of a token', () => {
  it('names refusals, and repeats if there were any', () => {
    assert.equal(usageText({ requests: 1_952, accepted: 1_929, refused: 23 }), '1,929 accepted, 23 refused')
    assert.equal(usageText({ requests: 3, accepted: 2, refused: 0 }), '2 accepted, 0 refused, 1 repeat')
  })
})
