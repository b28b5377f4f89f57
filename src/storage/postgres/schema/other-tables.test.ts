import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addSender,
  candidate,
  head,
  holdLane,
  open,
  settled,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'

describe('a process whose tables are of another version', () => {
  it('G1 G6: reports that it has accepted and written nothing, and continues when they fit again', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, lane.connectionId)
    await open(world, lane, message)
    const session = await world.session()
    const ended = step(world, lane, { finish: settled(world, message) })
    await session.query('alter function this_timeline rename to renamed')

    const answer = await world.intake.accept(candidate(world, sender))
    await assert.rejects(
      world.lanes.record(ended),
      (error: unknown) => error instanceof StorageUnavailable && !error.unknown,
    )

    assert.deepEqual(answer, { kind: 'unavailable', code: 'not_accepted' })
    await session.query('alter function renamed rename to this_timeline')
    await accept(world, sender)
    assert.deepEqual(await world.lanes.record(ended), { fenced: false, started: false })
    await world.close()
  })
})
