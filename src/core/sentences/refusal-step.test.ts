import assert from 'node:assert/strict'
import { it } from 'vitest'
import { refusalStep } from './refusal-step.ts'

it.each([
  ['url_has_credentials', 'Use a link that works without.'],
  // Their sentences say what to do.
  ['event_missing', null],
  ['number_malformed', null],
  ['a_code_of_a_newer_version', null],
])('the next step of the refusal %s is %s', (code, step) => {
  assert.equal(refusalStep(code), step)
})
