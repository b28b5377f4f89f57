import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { clockOrDate, dayText, estimateText } from '../../console/components/instants.ts'
import { barText, inOrder, spanOf } from '../../console/features/logs/histogram-text.ts'
import {
  besideState,
  causeOf,
  placeOf,
  placeText,
  previewOf,
  STATE_LABELS,
} from '../../console/features/logs/log-labels.ts'
import {
  countedFilter,
  keyHint,
  logSearch,
  QUICK_FILTERS,
  quickFilterOf,
  rangeOf,
  readWords,
  shownResults,
  toFilter,
  wordsOf,
} from '../../console/features/logs/log-search.ts'
import { withView } from '../../console/features/logs/saved-view.ts'
import type { LogRow } from '../../src/contract/console/log.ts'

const NOTHING = { to: undefined, id: undefined, text: undefined }
const NOW = Date.UTC(2026, 0, 15, 12)
const AT = NOW - 60_000

describe('the search box of the API log', () => {
  it.each([
    ['49170', { to: '49170*' }],
    ['404', { status: '404' }],
    ['401 ', { status: '401' }],
    ['420', { to: '420*' }],
    ['+404', { to: '404*' }],
    ['+49 170 123-45', { to: '4917012345*' }],
    ['(0049) 170/1234', { to: '491701234*' }],
    ['+49 (0)170 1234', { to: '491701234*' }],
    ['+49-17', { to: '4917*' }],
    ['49-17 0', { to: '49170*' }],
    ['49.170.1234501', { to: '491701234501*' }],
    ['12.50', { text: '12.50' }],
    ['12500.00', { text: '12500.00' }],
    ['26.11.2026', { text: '26.11.2026' }],
    ['2026-11-26', { text: '2026-11-26' }],
    ['9/12', { text: '9/12' }],
    ['01a21a7a-cd01-73fe-a619-3ca15e42a327', { id: '01a21a7a-cd01-73fe-a619-3ca15e42a327' }],
    ['6x99rzm4-i', { id: '6x99rzm4-i' }],
    ['number_malformed', { text: 'number_malformed' }],
    ['answered 404', { text: 'answered 404' }],
    ['1234567890123456', { text: '1234567890123456' }],
    ['+', { text: '+' }],
    ['  ', {} as const],
  ])('reads %s', (words, expected) => {
    assert.deepEqual(readWords(words, true), { ...NOTHING, ...expected })
  })

  it('searches no recipient for a viewer, who does not see them', () => {
    assert.deepEqual(readWords('49170', false), { ...NOTHING, text: '49170' })
  })

  it('shows the search again', () => {
    assert.equal(wordsOf(logSearch.parse({ to: '49170*' })), '49170')
    assert.equal(wordsOf(logSearch.parse({})), '')
  })
})

describe('the range of the API log', () => {
  it('is a day, everything for a search, and none if times are given', () => {
    assert.equal(rangeOf(logSearch.parse({})), '24h')
    assert.equal(rangeOf(logSearch.parse({ to: '49170*' })), 'all')
    assert.equal(rangeOf(logSearch.parse({ to: '49170*', range: '7d' })), '7d')
    assert.equal(rangeOf(logSearch.parse({ since: '5' })), null)
  })

  it('becomes the time since which entries are requested', () => {
    assert.equal(toFilter(logSearch.parse({}), NOW).since, NOW - 86_400_000)
    assert.equal(toFilter(logSearch.parse({ range: 'all' }), NOW).since, undefined)
    assert.equal(toFilter(logSearch.parse({ since: '5' }), NOW).since, 5)
  })
})

describe('the results to choose from', () => {
  it('name the states of each group, and no state twice', () => {
    const states = QUICK_FILTERS.flatMap((one) => [...one.states])

    assert.deepEqual([...states, 'CANCELLED'].toSorted(), Object.keys(STATE_LABELS).toSorted())
  })

  it('are restored from the filters in the URL', () => {
    assert.equal(quickFilterOf(logSearch.parse({})), 'all')
    assert.equal(quickFilterOf(logSearch.parse({ result: 'published' })), 'sent')
    assert.equal(quickFilterOf(logSearch.parse({ view: 'failed' })), 'failed')
    assert.equal(quickFilterOf(logSearch.parse({ result: 'cancelled' })), '')
  })

  it.each([
    ['DELIVERED', 'sent'],
    ['SENDING', 'waiting'],
    ['EXPIRED', 'failed'],
    ['CANCELLED', ''],
  ])('are those of the group of a state: %s', (state, group) => {
    assert.equal(quickFilterOf(logSearch.parse({ state })), group)
  })
})

describe('the text beside the result', () => {
  it.each([
    ['the time until it was sent', { state: 'PUBLISHED', sentAfterMs: 300 }, 'sent in 300 ms'],
    ['the same of a delivered one', { state: 'DELIVERED', sentAfterMs: 900 }, 'sent in 900 ms'],
    ['its attempts', { state: 'PUBLISHED', sentAfterMs: 7_100, attempts: 3 }, 'sent in 7.1 s, third attempt'],
    ['a clock that went back', { state: 'PUBLISHED', sentAfterMs: -5 }, 'sent in 0 ms'],
    ['its next attempt', { state: 'SENDING', attempts: 2 }, 'second attempt'],
    ['a pause', { state: 'QUEUED', isPaused: true }, 'Paused'],
    ['why it failed', { state: 'FAILED', reason: { code: 'x', meaning: 'It is.', list: 'Too big' } }, 'Too big'],
    ['a repeat', { outcome: 'repeated', state: 'READ' }, 'Repeat of an earlier request'],
    ['who sent it again', { state: 'FAILED', resentBy: 'Ada' }, 'Sent again by Ada'],
    ['nothing while it just waits', { state: 'QUEUED' }, null],
  ] as const)('is %s', (_, part, cause) => {
    assert.equal(causeOf({ ...ROW, ...part }), cause)
  })

  it('is the first error of a refused request, with its field', () => {
    const errors = [
      { field: 'message.to', code: 'number_malformed', list: 'Give 7 to 15 digits', message: '`Digits` only.' },
      { field: null, code: 'x', list: 'Wrong', message: 'Wrong.' },
    ]

    assert.equal(causeOf({ ...ROW, outcome: 'refused', errors }), 'to: Give 7 to 15 digits, +1')
    const summed = { requests: 12, since: AT }
    assert.equal(
      causeOf({ ...ROW, outcome: 'refused', errors: errors.slice(0, 1), summed }),
      '12 requests, not listed one by one: Give 7 to 15 digits',
    )
  })
})

describe('the key at the search box of the log', () => {
  it('shows the key that leads there, or Enter after something else is typed', () => {
    const search = { text: 'parcel' } as Parameters<typeof keyHint>[1]

    assert.deepEqual(
      [keyHint('parcel', search), keyHint('parcels', search), keyHint('', search)],
      ['/', 'Enter', 'Enter'],
    )
  })
})

describe('the text of a row in the log', () => {
  it('shows what was sent, or that it was empty', () => {
    const error = { field: 'message.message', code: 'text_empty', list: 'Empty text', message: 'The text is empty.' }

    assert.equal(previewOf({ preview: 'Hello', errors: [] }), 'Hello')
    assert.equal(previewOf({ preview: '  ', errors: [error] }), '(empty)')
  })
})

describe('the cause of a request with a token that was once valid', () => {
  it.each([
    [true, 'Token web-shop deleted'],
    [false, 'Token web-shop expired'],
  ])('says what became of it', (isDeleted, cause) => {
    const errors = [{ field: null, code: 'unauthorized', list: 'No valid token', message: '' }]
    const token = { id: 't', name: 'web-shop', isDeleted }

    assert.equal(causeOf({ ...ROW, outcome: 'refused', errors, token }), cause)
  })
})

describe('the place of a waiting message', () => {
  const place = {
    ...{ id: 'm', isOpen: false, position: 19, estimatedAt: null, wait: null },
    ...{ behind: null, code: null, mayHaveLeft: false },
  }

  it.each([
    ['its turn', {}, '19th in its lane'],
    ['the next one', { position: 1 }, 'Next in its lane'],
    ['one far back', { position: null }, 'Over 1,000 before it'],
    [
      'the pace, which is its turn, too',
      { wait: { code: 'pace', list: '', sentence: 'Paced.', until: NOW } },
      '19th in its lane',
    ],
    [
      'what stops it',
      { wait: { code: 'x', list: 'File host too slow', sentence: '', until: null } },
      'File host too slow',
    ],
    [
      'an earlier one to the same person',
      { behind: { text: 'an earlier image to the same recipient: its file is not downloaded yet', at: null } },
      'Waits for an earlier image to the same recipient: its file is not downloaded yet',
    ],
    ['a wait that is over', { wait: { code: 'x', list: 'Busy', sentence: '', until: NOW - 1 } }, 'Busy'],
  ])('names %s', (_, part, text) => {
    assert.equal(placeText({ ...place, ...part }, NOW), text)
  })

  it('has the estimated time, and the end of a wait', () => {
    const text = placeText({ ...place, position: 102, estimatedAt: NOW + 60_000 }, NOW)
    assert.match(text ?? '', /^102nd in its lane, about \d\d:\d\d:00$/)
    const wait = { code: 'quiet_hours', list: 'Quiet hours', sentence: '', until: NOW + 60_000 }
    assert.match(placeText({ ...place, wait }, NOW) ?? '', /^Quiet hours, goes on \d\d:\d\d:00$/)
    const behind = { text: 'an earlier image: its download is tried again', at: NOW + 60_000 }
    assert.match(placeText({ ...place, behind }, NOW) ?? '', /^Waits for an earlier .* again at \d\d:\d\d:00$/)
  })

  it('has no seconds if the time is far ahead', () => {
    const until = NOW + 2 * 3_600_000
    const wait = { code: 'media_pending', list: 'Download will be tried again', sentence: '', until }

    assert.match(placeText({ ...place, estimatedAt: until }, NOW) ?? '', /about (\d+ \w+, )?\d\d:\d\d$/)
    assert.match(placeText({ ...place, wait }, NOW) ?? '', /again, goes on (\d+ \w+, )?\d\d:\d\d at the earliest$/)
    assert.equal(estimateText(NOW + 90_000, NOW), clockOrDate(NOW + 90_000, NOW))
  })

  it('is shown only while the row is in the state for which it was found', () => {
    const waiting = { ...ROW, state: 'QUEUED' } as const
    const open = { ...place, isOpen: true }

    assert.equal(placeOf(waiting, place), place)
    assert.equal(placeOf({ state: 'SENDING' }, open), open)
    assert.deepEqual(
      [placeOf(waiting, open), placeOf({ state: 'SENDING' }, place), placeOf({ state: 'READ' }, place)],
      [undefined, undefined, undefined],
    )
  })

  it('is shown beside the state, and for an attempt only while its result is awaited', () => {
    const wait = { code: 'awaiting_evidence', list: 'Asking what became of it', sentence: '', until: null }
    const open = { ...ROW, state: 'SENDING', attempts: 2 } as const

    assert.equal(besideState({ ...ROW, state: 'QUEUED' }, place, NOW), '19th in its lane')
    assert.equal(besideState({ ...ROW, state: 'QUEUED', isPaused: true }, place, NOW), 'Paused')
    assert.equal(besideState(open, { ...place, isOpen: true }, NOW), 'second attempt')
    assert.equal(besideState(open, { ...place, isOpen: true, wait }, NOW), 'Asking what became of it')
  })
})

describe('the counts over the list', () => {
  const NONE = { published: 0, waiting: 0, failed: 0, unconfirmed: 0, expired: 0, cancelled: 0, refused: 0 }
  const bars = [
    { ...NONE, at: NOW, published: 2, failed: 1, expired: 1 },
    { ...NONE, at: NOW + 60_000, refused: 3 },
  ]
  const counts = { bars, barMs: 60_000 }

  it('include every result, whichever is shown', () => {
    const search = logSearch.parse({ view: 'failed', result: 'failed', to: '49170*' })
    const { view, result, to } = countedFilter(search)
    assert.deepEqual([view, result, to], ['all', undefined, '49170*'])
    assert.deepEqual(shownResults(logSearch.parse({ view: 'failed' })), ['failed', 'expired'])
    assert.deepEqual(shownResults(logSearch.parse({ result: 'cancelled' })), ['cancelled'])
    assert.deepEqual(shownResults(logSearch.parse({})), ['accepted', 'refused'])
  })

  it('become the time range of the chosen bars, in either direction', () => {
    assert.deepEqual(inOrder([1, 0]), [0, 1])
    assert.deepEqual(spanOf([1, 0], counts), { since: NOW, until: NOW + 119_999 })
    assert.match(barText(bars[0] as (typeof bars)[0], 60_000), /: 2 sent, 2 failed or expired$/)
    assert.match(barText({ ...NONE, at: NOW }, 60_000), /: no requests$/)
  })
})

describe('saved filters', () => {
  it('replace filters of the same name, and are limited in number', () => {
    const first = withView([{ name: 'a', search: '?x=1' }], { name: 'a', search: '?x=2' })
    assert.deepEqual(first, [{ name: 'a', search: '?x=2' }])
    const many = Array.from({ length: 20 }, (_, at) => ({ name: String(at), search: '' }))
    assert.equal(withView(many, { name: 'new', search: '' })[0]?.name, '1')
  })
})

describe('the days of a list', () => {
  it('are named as people do', () => {
    assert.equal(dayText(NOW, NOW), 'Today')
    assert.equal(dayText(NOW - 86_400_000, NOW), 'Yesterday')
    assert.match(dayText(NOW - 3 * 86_400_000, NOW), /Monday/)
  })
})

const ROW: LogRow = {
  id: 'm',
  requestId: 'r',
  receivedAt: AT,
  status: 200,
  code: 'HC-1',
  name: 'success_200',
  outcome: 'accepted',
  madeBy: null,
  resentBy: null,
  errors: [],
  messageId: 'm',
  state: 'QUEUED',
  reason: null,
  from: '15550001000',
  to: '15551234567',
  type: 'message',
  connectionId: 'c',
  connectionName: null,
  token: null,
  tookMs: 1,
  attempts: 0,
  summed: null,
  preview: 'Hello',
  isPaused: false,
  sentAfterMs: null,
}
