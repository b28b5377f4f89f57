import assert from 'node:assert/strict'
import { it } from 'vitest'
import { REFUSALS } from '../refusals.ts'
import { refusalList, refusalStep } from './explain-refusal.ts'

it.each([
  ['url_has_credentials', 'Use a link that works without.'],
  // Their sentences say what to do.
  ['event_missing', null],
  ['number_malformed', null],
  ['a_code_of_a_newer_version', null],
])('the next step of the refusal %s is %s', (code, step) => {
  assert.equal(refusalStep(code), step)
})

it.each([
  ['number_malformed', 'Only digits, 7 to 15 of them'],
  ['a_code_of_a_newer_version', 'a_code_of_a_newer_version'],
])('in lists the refusal %s reads %s', (code, list) => {
  assert.equal(refusalList(code), list)
})

it.each(Object.entries(REFUSALS).filter(([code]) => code.endsWith('_malformed')))(
  'the refusal %s shows an example',
  (_, sentence) => {
    assert.match(sentence, / Example: \S+\.$/)
  },
)
