import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readTree } from '../scripts/source-tree.ts'
import { commandPrefix } from '../src/core/command-line.ts'
import { MESSAGE_STATES, type MessageState } from '../src/core/message/message.ts'
import { TIMELINE_KINDS, type TimelineKind } from '../src/core/message/timeline.ts'
import type { TimelineEntry } from '../src/core/ports/administration.ts'
import { REASONS } from '../src/core/reasons.ts'
import { REFUSALS, type RefusalCode } from '../src/core/refusals.ts'
import { explainEntry, timelineTitle } from '../src/core/sentences/explain-entry.ts'
import { explainMessage } from '../src/core/sentences/explain-message.ts'
import { refusalList, refusalStep } from '../src/core/sentences/explain-refusal.ts'
import { replyOf } from '../src/http/server/refusal-replies.ts'
import { AT, entry, type Situation, viewOf } from './support/read-message.ts'

const MOST_LIST_CHARACTERS = 40
const MOST_WORDS = 20
const CODES = Object.keys(REASONS)
const REASONS_OR_NONE = [null, ...CODES]
const CHANNELS = ['sandbox', 'whatsapp-cloud', 'whatsapp-web', 'bridge']

/** The only allowed first sentences: they follow from the state, the attempts and the reports. */
const FIRST: Readonly<Record<MessageState, RegExp>> = {
  QUEUED:
    /^(Not sent yet(, after \d+ attempts?)?\.|It may have been sent already\.( Nuncio sends it once more .+\.)?)$/,
  SENDING: /^(Being sent now\.|Not known yet: .+\.)$/,
  PUBLISHED: /^(Sent(:| at the \w+ attempt:) .+\.|Sent, perhaps twice\.|.+ marked it as arrived.*\.)$/,
  DELIVERED: /^(Sent and delivered.*\.|Sent, perhaps twice\.)$/,
  READ: /^(Sent.* read.*\.|Sent, perhaps twice\.)$/,
  FAILED: /^(Not sent\.|Sent, but not delivered\.)$/,
  UNCONFIRMED: /^Nobody knows whether it arrived\.$/,
  EXPIRED: /^Not sent\.$/,
  CANCELLED: /^Not sent\.$/,
}

/** What may have happened to a message before. */
const PASTS: readonly (readonly TimelineEntry[])[] = [
  [],
  [entry('attempt-unknown', 20, { attempt: 1, words: 'Meta did not answer in time' }), entry('receipt-read', 1_800)],
  [entry('attempt-unknown', 20, { attempt: 1 }), entry('attempt-rejected', 900, { attempt: 2, code: 'busy' })],
  [entry('recovered', 20, { attempt: 1 }), entry('receipt-contrary', 900, { words: 'delivered' })],
  [entry('waiting', 9_000, { code: 'paused', begunBy: 'a.person.with.a.long.name@example.org', waitedMs: 60_000 })],
  [entry('cancelled', 9_000, { code: 'cancelled_by_person', by: 'a.person.with.a.long.name@example.org' })],
]

function situationsOf(state: MessageState): readonly Situation[] {
  const isOpen = state === 'QUEUED' || state === 'SENDING'
  return REASONS_OR_NONE.flatMap((reason) =>
    PASTS.flatMap((timeline) =>
      CHANNELS.map((channel) => ({
        message: { state, reason, attempts: 1, publishedAt: state === 'PUBLISHED' ? AT + 300 : null },
        channel,
        timeline,
        ...(isOpen && reason !== null ? { wait: { reason, words: null, until: AT + 3_600_000 } } : {}),
      })),
    ),
  )
}

describe('what people read of a message', () => {
  it.each(MESSAGE_STATES)('follows the rules in state %s, for every reason', (state) => {
    for (const situation of situationsOf(state)) {
      const { sentence, short, list, cause, nextStep } = explainMessage(viewOf(situation))
      const where = `${JSON.stringify(situation)}: ${[sentence, list, cause, nextStep].join(' | ')}`

      assert.match(sentence, FIRST[state], where)
      assert.match(short, /^[a-z ]+$/)
      assert.ok(list.length <= MOST_LIST_CHARACTERS && !list.endsWith('.'), where)
      assert.ok(nextStep !== '', where)
      for (const line of [sentence, cause ?? '', nextStep]) assertReadable(line, where)
    }
  })

  it.each(['FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED'] as const)(
    'advises nothing that would double a message in state %s that was sent again',
    (state) => {
      const resent = { id: 'copy' as never, state: 'READ', reason: null, words: null, by: 'cli' } as const
      for (const situation of situationsOf(state)) {
        const { nextStep } = explainMessage(viewOf({ ...situation, more: { resent } }))

        assert.match(nextStep, /^You need not do anything here\.( The recipient may get it twice\.)?$/)
      }
    },
  )
})

// All stored facts of every kind, taken together.
const FACTS = {
  attempt: 2,
  tries: 3,
  waitedMs: 62_000,
  before: 3,
  by: 'cli',
  as: 'arrived',
  how: 'stopped',
  lastedMs: 5_000,
}

describe('what people read in the timeline of a message', () => {
  it.each(Object.keys(TIMELINE_KINDS) as TimelineKind[])('has a title and follows the rules: %s', (kind) => {
    for (const facts of [{}, FACTS])
      for (const code of [null, ...CODES]) {
        const one = entry(kind, 900, { code, ...facts })
        const view = viewOf({ channel: 'whatsapp-cloud' })
        const [title, { cause }] = [timelineTitle(one, view), explainEntry(one, view)]

        assert.match(title, /^[A-Z].*[^.]$/)
        assertReadable(title, `${kind}: ${title}`)
        if (cause !== null) assertReadable(cause, `${kind} ${code}: ${cause}`)
      }
  })

  it('knows every kind that storage writes', () => {
    const written = [...readTree('src/storage/**/*.{ts,sql}')]
      .filter(([path]) => !path.endsWith('.test.ts'))
      .flatMap(([, text]) => [...text.matchAll(/'((?:attempt|media|receipt|connection)-[a-z-]+)'/g)])
      .map(([, kind]) => kind ?? '')

    assert.ok(written.includes('receipt-contrary') && written.includes('media-lost'))
    assert.deepEqual(
      [...new Set(written)].filter((kind) => !Object.hasOwn(TIMELINE_KINDS, kind)),
      [],
    )
  })
})

// Words with which a sentence says what to do.
const SAYS_IT =
  /(?:^|[.,:;] )(?:[Ss]end|[Aa]dd|[Cc]reate|[Cc]heck|[Ll]eave|[Uu]se|[Ww]rite|[Ii]t is safe)\b|must|only|may be/

describe('what people read of a refused request', () => {
  const codes = (Object.keys(REFUSALS) as RefusalCode[]).filter((code) => replyOf(code).kind !== 'internal_error')

  it.each(codes)('says what is wrong and what to do: %s', (code) => {
    const [list, wrong, step] = [refusalList(code), REFUSALS[code], refusalStep(code)]

    assert.match(list, /^[A-Z].*[^.]$/)
    assert.ok(list.length <= MOST_LIST_CHARACTERS, list)
    assert.match(wrong, /^.*\.$/)
    if (step !== null) assertReadable(step, step)
    assert.ok(step !== null || SAYS_IT.test(wrong), wrong)
  })
})

function assertReadable(line: string, where: string): void {
  assert.doesNotMatch(line, /[{}]|undefined|null|NaN|\.\.|\b(?:NUMBER|RECIPIENT|ID)\b/, where)
  assert.ok(!line.includes(`${commandPrefix()} `), `a command: ${where}`)
  for (const one of line.split(/(?<=[.?!;:]) /)) assert.ok(one.split(' ').length <= MOST_WORDS, `too long: ${one}`)
}
