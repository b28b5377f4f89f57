import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { FirstContacts } from './first-contacts.ts'
import { Refusals } from './refusals.ts'
import type { ReadySession } from './session.ts'

const READY = { stored: { readUser: async (to: string) => to, writeKeys: async () => {} } } as unknown as ReadySession

it('counts how often the form of one message was refused, whatever becomes of others meanwhile', async () => {
  const refusals = new Refusals({
    clock: new HandClock(),
    contacts: {} as FirstContacts,
    note: () => {},
  })
  const times = async (message: Handover, code: string) => (await refusals.note(message, code, READY)).timesOfForm

  const first = await times(messageOf('first'), '479')
  const other = await times(messageOf('other'), '479')
  await times(messageOf('other'), '500')
  refusals.accepted(messageOf('other'))
  const [again, otherAgain] = [await times(messageOf('first'), '479'), await times(messageOf('other'), '479')]

  assert.deepEqual([first, other, again, otherAgain], [1, 1, 2, 1])
})

function messageOf(id: string): Handover {
  return { connectionId: 'con_1', messageId: id as MessageId, to: '15551234567' } as unknown as Handover
}
