import assert from 'node:assert/strict'
import { it } from 'vitest'
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
  ['number_malformed', 'Wrong format'],
  ['a_code_of_a_newer_version', 'a_code_of_a_newer_version'],
])('in lists the refusal %s reads %s', (code, list) => {
  assert.equal(refusalList(code), list)
})
