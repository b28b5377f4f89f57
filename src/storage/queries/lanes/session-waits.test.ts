import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { explainMessage } from '../../../core/sentences/explain-message.ts'
import { createLaneViews } from './lane-views.ts'

const HOUR_MS = 3_600_000
const ALLOWANCE = '30 of 30 new recipients were written to within 24 hours, so none is left.'

let world: AdministrationWorld
let accountId: AccountId
let id: ConnectionId

const lanes = () => createLaneViews(world.store)
const readLane = () => lanes().readLane({ accountId, id })

describe.each(ENGINES)('the lane of a linked phone, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    accountId = await world.account()
    id = await world.connection(accountId)
    return close
  })

  it.each([
    {
      status: 'unlinked',
      code: null,
      reason: 'device_unlinked',
      step: 'Link the phone of the number. What waits is then sent.',
    },
    {
      status: 'taken-elsewhere',
      code: 440,
      reason: 'session_taken',
      step: 'End the other installation, then log in here again: “Use here”.',
    },
    {
      status: 'banned',
      code: 403,
      reason: 'number_banned',
      step: 'Open WhatsApp on the phone of the number and follow what it says. Then log in again: “Use here”.',
    },
    {
      status: 'client-refused',
      code: 405,
      reason: 'client_refused',
      step: 'Ask the person who runs Nuncio to update the channel. If no update helps, report it.',
    },
    {
      status: 'not-installed',
      code: null,
      reason: 'channel_not_installed',
      step: 'Ask the person who runs Nuncio to install them. Sending then goes on by itself.',
    },
    {
      status: 'unreadable',
      code: null,
      reason: 'session_unreadable',
      step: 'Ask the person who runs Nuncio to restore the key ring. If the key is lost, unlink the number here, log the device out on its phone, and link it again.',
    },
  ])(
    'G10: waits for a person who resolves “$status”, whatever its messages wait for',
    async ({ status, code, reason, step }) => {
      const message = await deferred()
      await session(status, code)

      const { standsStill, group } = await readLane()
      const view = await world.administration.explainMessage(message)
      const [place] = await lanes().findPlaces(accountId, [message])

      assert.deepEqual(
        [standsStill?.reason, standsStill?.canBeEnded, group, view.message.reason, place?.wait?.reason],
        [reason, false, 'problem', reason, reason],
      )
      assert.equal(explainMessage(view).nextStep, step)
    },
  )

  it.each(['ready', 'connecting'])('waits as its messages do while its session is “%s”', async (status) => {
    const message = await deferred()
    await session(status)

    const { standsStill } = await readLane()
    const view = await world.administration.explainMessage(message)

    assert.deepEqual([standsStill?.reason, view.message.reason], ['all_deferred', 'new_recipients'])
  })

  it('says until when it is banned', async () => {
    await deferred()
    await session('banned', 402, NOON + 2 * HOUR_MS)
    await world.lane(id, { reason: 'number_banned', until: NOON + HOUR_MS })

    assert.equal((await readLane()).standsStill?.until, NOON + 2 * HOUR_MS)
  })

  it('is not ready while nothing waits either', async () => {
    await session('unlinked')
    const unlinked = await readLane()
    await lanes().setState({ accountId, id }, 'paused', 'anna')
    const paused = await readLane()

    assert.deepEqual([unlinked.group, unlinked.standsStill?.reason], ['problem', 'device_unlinked'])
    assert.deepEqual([paused.group, paused.standsStill?.reason], ['paused', 'paused'])
  })

  it('has no wait that a person could end where each message waits for the allowance of new recipients', async () => {
    await deferred()

    assert.equal((await readLane()).standsStill?.canBeEnded, false)
    await assert.rejects(lanes().endWait({ accountId, id }, 'anna'), { code: 'lane_not_waiting' })
  })
})

/** A message that waits for the allowance of new recipients, as all of its lane do. */
async function deferred() {
  const message = await world.accept({ connectionId: id })
  const wait = { kind: 'rate-limit', reason: 'new_recipients', words: ALLOWANCE, since: NOON, until: NOON + HOUR_MS }
  const retry = JSON.stringify({ tries: 0, resent: false, crashes: 0, wait })
  await world.run('update message set retry = ? where sequence = ?', retry, message.sequence)
  await world.lane(id, { reason: 'all_deferred', until: NOON + HOUR_MS })
  return message.id
}

async function session(status: string, code: number | null = null, refusedUntil: number | null = null): Promise<void> {
  await world.run(
    'insert into session_status (connection_id, status, since, code, refused_until) values (?, ?, ?, ?, ?)',
    id,
    status,
    NOON,
    code,
    refusedUntil,
  )
}
