import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { makeReasonsPage } from '../../scripts/pages/reasons-page.ts'
import { readTree } from '../../scripts/source-tree.ts'
import { explainReason, REASONS } from './reasons.ts'
import { FACT_EXAMPLES, type FactName, type ReasonRow, type SentenceFacts, type Text } from './sentences/texts.ts'

const MOST_LIST_CHARACTERS = 40
const MOST_WORDS = 20
// The buttons and fields of which next steps speak stand in “…”.
const QUOTED = /“([^”]+)”/g
const CONSOLE = [...readTree('console/**/*.tsx')].map(([, text]) => text).join('\n')

// Choose another cause, or belong to one.
const SPECIAL: readonly FactName[] = [
  ...(['who', 'n', 'earlier', 'attempts', 'template', 'refusedN', 'unknowns', 'status', 'later'] as const),
  ...(['afterFailure', 'beforeRepeat', 'forgotten', 'tooLate', 'blockedAt', 'removedAt', 'reportedFailed'] as const),
  ...(['stopped', 'unapproved', 'uploads', 'pausedBy'] as const),
]

// A new message is needed, with another recipient, text, file or number.
const FAILS_AGAIN = [
  'recipient_refused',
  'content_refused',
  'message_damaged',
  'type_unsupported',
  'media_dns, cause 4',
  'media_status, cause 1',
  'media_status, cause 4',
  'media_status, cause 9',
  'media_too_big',
  'media_too_big, cause 1',
  'media_wrong_type',
  'media_wrong_type, cause 3',
  'media_blocked',
  'media_blocked, cause 1',
  'media_blocked, cause 2',
  'media_blocked, cause 3',
  'media_blocked, cause 4',
  'media_protocol, cause 1',
  'media_not_for_network',
  'media_not_for_network, cause 2',
  'media_not_for_network, cause 3',
  'media_not_for_network, cause 4',
  'media_not_for_network, cause 5',
  'whatsapp_130472',
  'whatsapp_130497',
  'whatsapp_131008',
  'whatsapp_131009',
  'whatsapp_131021',
  'whatsapp_131050',
  'whatsapp_131051',
  'whatsapp_131053',
  'whatsapp_132005',
  'whatsapp_132007',
  'bridge_recipient_unknown',
  'bridge_recipient_refused',
  'bridge_content_refused',
  'bridge_media_refused',
  'not_on_whatsapp',
]

interface Row {
  readonly title: string
  readonly code: string
  readonly context: { readonly state?: string | null; readonly words?: string | null }
  /** Of a cause that only a fact shows. */
  readonly fact: FactName | null
}

const ROWS: readonly Row[] = Object.entries<ReasonRow>(REASONS).flatMap(([code, { causes = [] }]) => [
  { title: code, code, context: {}, fact: null },
  ...causes.map(({ when, example }, index) => ({
    title: `${code}, cause ${index + 1}`,
    code,
    context: { state: when.state ?? null, words: example ?? null },
    fact: when.fact ?? null,
  })),
])

/** Nothing known, everything known, and each fact alone. */
function manyFacts(fact: FactName | null): readonly SentenceFacts[] {
  const { words: _, ...all } = FACT_EXAMPLES
  const least = fact === null ? {} : { [fact]: FACT_EXAMPLES[fact] }
  const singles = (Object.keys(all) as FactName[]).map((name) => ({ ...all, [name]: undefined, ...least }))
  const isSpecial = new Set<string>(SPECIAL)
  const usual = Object.fromEntries(Object.entries(all).filter(([name]) => !isSpecial.has(name)))
  return [least, { ...usual, ...least }, { ...all, ...least }, ...singles]
}

describe('the sentences of a reason', () => {
  it.each([
    ['result_unknown', 'a test number: the connection breaks', null],
    ['busy', 'a test number: busy twice, then fine', 'The sandbox said'],
  ])('say once, with %s, what the sandbox does for a test number', (code, words, speaker) => {
    const { quote } = explainReason(code, { words, channel: 'sandbox', state: 'UNCONFIRMED', facts: { to: '1' } })

    assert.equal(quote?.speaker ?? null, speaker)
  })

  it.each(ROWS.map((row) => [row.title, row] as const))('%s keep to the rules, whatever is known', (_, row) => {
    for (const facts of manyFacts(row.fact)) {
      const { list, cause, nextStep, command } = explainReason(row.code, {
        channel: 'whatsapp-cloud',
        ...row.context,
        facts,
      })

      assert.ok(list.length <= MOST_LIST_CHARACTERS, `${list} has ${list.length} characters`)
      assert.match(list, /^[A-Z0-9].*[^.]$/)
      for (const line of [cause, nextStep]) {
        assert.match(line, /^[^ ].*[.”]$/)
        assert.doesNotMatch(`${list} ${line}`, /[{}]|undefined|null|NUMBER|RECIPIENT|\bID\b|\.\./)
        assert.doesNotMatch(line, /\b(?:nuncio [a-z]|npm |lane|head|worker)\b/)
        if (line === row.context.words) continue
        for (const one of sentencesOf(line)) assert.ok(one.split(' ').length <= MOST_WORDS, `too long: ${one}`)
      }
      assert.ok(!nextStep.startsWith('Nothing'), nextStep)
      if (command !== null) assert.match(command, /^nuncio /)
    }
  })

  it('offer to retry what may succeed then, and say so: all but these', () => {
    const ended = ROWS.map(({ title, code, context, fact }) => {
      const facts = fact === null ? {} : { [fact]: FACT_EXAMPLES[fact] }
      return { title, ...explainReason(code, { state: 'FAILED', ...context, facts }) }
    })
    const named = ended.filter(({ nextStep }) => /then retry|retry (it|once|later)|“Retry”/i.test(nextStep))

    assert.deepEqual(
      named.filter(({ canRetry }) => !canRetry).map(({ title }) => title),
      [],
    )
    assert.deepEqual(
      ended.filter(({ canRetry }) => !canRetry).map(({ title }) => title),
      FAILS_AGAIN,
    )
  })

  it('stand once each in the documents', () => {
    const rows = makeReasonsPage()
      .split('\n')
      .filter((line) => line.startsWith('| `'))

    assert.ok(rows.length > 200)
    assert.deepEqual(
      rows.filter((row, at) => rows.indexOf(row) < at),
      [],
    )
  })

  it('name only buttons and fields of the console that there are', () => {
    const named = ROWS.flatMap(({ code, context }) => [...explainReason(code, context).nextStep.matchAll(QUOTED)])
    const missing = named.map(([, label]) => label ?? '').filter((label) => !CONSOLE.includes(label))

    assert.deepEqual(
      missing.filter((label) => label !== 'Error codes'),
      [],
    )
  })

  it('choose a cause by the words that stand with it, and say them', () => {
    const unreached = Object.entries<ReasonRow>(REASONS).flatMap(([code, { causes = [] }]) =>
      causes.flatMap(({ when, example, list, cause, nextStep }) => {
        if (!when.words) return []
        const found = explainReason(code, { words: example ?? '' })
        const isIt = [
          [list, found.list],
          [cause, found.cause],
          [nextStep, found.nextStep],
        ].every(([text, said]) => text === undefined || mayBe(text, String(said)))
        return isIt ? [] : [`${code}: ${example}`]
      }),
    )

    assert.deepEqual(unreached, [])
  })

  it('quote foreign words with their speaker, and never twice', () => {
    const ofMeta = explainReason('whatsapp_190', { words: '(#190) expired', channel: 'whatsapp-cloud' })
    const ofFile = explainReason('media_status', { words: 'files.example answered 404 (not found).' })

    assert.deepEqual(ofMeta.quote, { speaker: 'Meta said', words: '(#190) expired' })
    assert.deepEqual([ofFile.cause, ofFile.quote], ['files.example answered 404 (not found).', null])
  })

  it('read as themselves where a newer version wrote them', () => {
    assert.equal(explainReason('of_a_newer_version').cause, 'of_a_newer_version')
  })
})

function sentencesOf(line: string): readonly string[] {
  return line.split(/(?<=[.?!;:]) /)
}

/** Whether a sentence may have come of a text: its first words are the same. */
function mayBe(text: Text, said: string): boolean {
  const versions = typeof text === 'string' ? [text] : text
  return versions.some((version) => {
    const [start = ''] = version.split('{')
    return version.startsWith('{') || said.startsWith(start)
  })
}
