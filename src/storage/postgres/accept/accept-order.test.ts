import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { accept, addConnection, addSender, BEN, candidate } from '../../../../test/conformance/storage-world.ts'
import type { SpoolId, WorkerId } from '../../../core/ids.ts'

describe('the order of acceptance on PostgreSQL', () => {
  it('G3: is the order in which messages of a lane become visible, whichever process accepts them', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const number = '15550002000'
    const other = { ...sender, number, connectionId: await addConnection(world, sender.accountId, { number }) }
    const [ben, carl] = [BEN, 'carl' as WorkerId].map(
      (worker) => world.processOf(worker, worker as string as SpoolId).intake,
    )
    const reader = await world.session()
    const ORDER = 'select sequence from queued where connection_id = $1 order by sequence'

    let isDone = false
    const accepting = Promise.all(
      [world.intake, ben!, carl!].map(async (intake, at) => {
        for (let round = 0; round < 60; round++) {
          // In different orders, and with a second lane that all of them want as well.
          const wanted = (round + at) % 2 === 0 ? [sender, other, sender] : [other, sender]
          await Promise.all(wanted.map((lane) => intake.accept(candidate(world, lane))))
        }
      }),
    ).finally(() => {
      isDone = true
    })
    let seen: number[] = []
    let polls = 0
    while (!isDone) {
      const { rows } = await reader.query(ORDER, [sender.connectionId])
      const now = rows.map(({ sequence }) => Number(sequence))
      // What was there is still the beginning: nothing has come in front of it.
      assert.deepEqual(now.slice(0, seen.length), seen)
      if (now.length > seen.length) polls += 1
      seen = now
    }
    await accepting

    assert.ok(polls > 20, `saw it grow only ${polls} times`)
    await world.close()
  })

  it('G3: goes on over the beginning of a day, also for a process that has seen another', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const other = world.processOf(BEN, 'other' as SpoolId).intake
    const session = await world.session()

    const ids = [await accept(world, sender)]
    await session.query('update period set starts_at = now_ms() - 86400000')
    await session.query('select open_period()')
    for (let i = 0; i < 4; i++) {
      const result = await (i % 2 === 0 ? other : world.intake).accept(candidate(world, sender))
      if (result.kind === 'accepted') ids.push(result.messageId)
    }

    const { rows } = await session.query('select id, sequence from queued order by sequence')
    assert.deepEqual(
      rows.map(({ id }) => id),
      ids,
    )
    const periods = rows.map(({ sequence }) => Math.floor(Number(sequence) / 2 ** 40))
    assert.deepEqual(periods, [1, 2, 2, 2, 2])
    await world.close()
  })
})
