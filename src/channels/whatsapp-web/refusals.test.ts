import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { FirstContacts } from './first-contacts.ts'
import { Refusals } from './refusals.ts'
import type { ReadySession } from './session.ts'

const READY = {} as ReadySession

it('counts to how many recipients in a row WhatsApp asked for a slower pace, and how often to each until it took a message', async () => {
  const refusals = openRefusals()
  const tooFast = async (to: string) => {
    const { recipientsInARow, timesTooFast } = await refusals.note(messageOf('any', to), '429', READY)
    return [recipientsInARow, timesTooFast]
  }

  const before = [await tooFast('1'), await tooFast('1'), await tooFast('2'), await tooFast('3')]
  refusals.accepted(messageOf('any', '3'))

  assert.deepEqual(before, [
    [1, 1],
    [1, 2],
    [2, 1],
    [3, 1],
  ])
  assert.deepEqual(
    [await tooFast('1'), await tooFast('3')],
    [
      [1, 3],
      [2, 1],
    ],
  )
})

it('forgets with its lane how often a number wrote too fast to each, and keeps what others did', async () => {
  const refusals = openRefusals()
  const tooFast = async (connectionId: string) => {
    const { timesTooFast, inARow } = await refusals.note(messageOf('any', '1', connectionId), '429', READY)
    return [timesTooFast, inARow]
  }
  for (const id of ['con_1', 'con_1', 'con_2']) await tooFast(id)

  refusals.forget('con_1' as ConnectionId)

  assert.deepEqual(
    [await tooFast('con_1'), await tooFast('con_2')],
    [
      [1, 1],
      [2, 2],
    ],
  )
})

it('counts how often the form of one message was refused, whatever becomes of others meanwhile', async () => {
  const refusals = openRefusals()
  const times = async (message: Handover, code: string) => (await refusals.note(message, code, READY)).timesOfForm

  const first = await times(messageOf('first'), '479')
  const other = await times(messageOf('other'), '479')
  await times(messageOf('other'), '500')
  refusals.accepted(messageOf('other'))
  const [again, otherAgain] = [await times(messageOf('first'), '479'), await times(messageOf('other'), '479')]

  assert.deepEqual([first, other, again, otherAgain], [1, 1, 2, 1])
})

function openRefusals(): Refusals {
  return new Refusals({ clock: new HandClock(), contacts: {} as FirstContacts, note: () => {} })
}

function messageOf(id: string, to = '15551234567', connectionId = 'con_1'): Handover {
  return { connectionId, messageId: id as MessageId, to } as unknown as Handover
}
