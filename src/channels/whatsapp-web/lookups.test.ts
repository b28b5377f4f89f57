import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import { Lookups } from './lookups.ts'
import type { Found } from './thread/messages.ts'

const TO = { to: '15551234567' }
const FOUND: Found = { kind: 'found', jid: '15551234567@s.whatsapp.net' }

describe('the look-up of a recipient', () => {
  it('goes on without an attempt that it is too slow for, and the next one has its result', async () => {
    const { find, answer, clock, state } = open()
    const first = find()
    await clock.pass(500)
    const second = find()
    answer()

    assert.deepEqual([await first, await second, state.asked], ['running', FOUND, 1])
    void find()
    assert.equal(state.asked, 2)
  })

  it('is begun anew after a minute without a result', async () => {
    const { find, clock, state } = open()
    for (const waitMs of [59_000, 1_000]) {
      void find()
      await clock.pass(500)
      assert.equal(state.asked, 1)
      await clock.pass(waitMs)
    }
    await clock.pass(59_000)
    void find()

    assert.equal(state.asked, 2)
  })

  it('keeps no process from ending, whether it was too slow or its attempt was stopped', async () => {
    const { find, clock } = open()
    const stopped = new AbortController()
    const first = find()
    await clock.pass(500)
    const second = find(stopped.signal)
    stopped.abort()

    assert.deepEqual([await first, await second, clock.timers], ['running', 'running', 0])
  })
})

function open() {
  const clock = new HandClock()
  const lookups = new Lookups(clock)
  const answered = Promise.withResolvers<Found>()
  const state = { asked: 0 }
  const socket = {
    find: async () => {
      state.asked += 1
      return answered.promise
    },
  }
  const find = (signal = new AbortController().signal) => lookups.find(socket, TO, signal)
  return { find, clock, state, answer: () => answered.resolve(FOUND) }
}
