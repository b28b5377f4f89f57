import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { personOf } from './key-recipient.ts'

describe('the person that a stored key is about', () => {
  it.each([
    { kind: 'session', id: '15551234567.0', person: { number: '15551234567' } },
    { kind: 'session', id: '915551234567_1.3', person: { lid: '915551234567' } },
    { kind: 'identity-key', id: '15551234567.0', person: { number: '15551234567' } },
    { kind: 'tctoken', id: '915551234567@lid', person: { lid: '915551234567' } },
    { kind: 'tctoken', id: '15551234567@s.whatsapp.net', person: { number: '15551234567' } },
    { kind: 'tctoken', id: '__index', person: null },
    { kind: 'lid-mapping', id: '15551234567', person: { number: '15551234567' } },
    { kind: 'lid-mapping', id: '915551234567_reverse', person: { lid: '915551234567' } },
    { kind: 'devices', id: '15551234567', person: { lid: '15551234567' } },
    { kind: 'device-list', id: '915551234567', person: { lid: '915551234567' } },
    { kind: 'recipient', id: '15551234567', person: { number: '15551234567' } },
    { kind: 'pre-key', id: '12', person: null },
    { kind: 'app-state-sync-key', id: 'AAAAAA', person: null },
  ])('is found by $kind $id', ({ kind, id, person }) => {
    assert.deepEqual(personOf({ kind, id }), person)
  })
})
