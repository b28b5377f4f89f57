import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { addSenderApart, newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { accept, addSender, BEN, candidate, claim, head, open } from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { SpoolId } from '../../../core/ids.ts'
import { type ClaimedLane, StorageUnavailable } from '../../../core/ports/lanes.ts'

// Less than a batch may wait for a lock, so that the server always gives up before. On a busy machine that may be too little for
// anything else, too, so it is tried again; what shares the batch is the same each time.
const STATEMENTS_MS = 200

describe('where the operator lets statements take less time than they may wait for a lock', () => {
  it('G11: one lane whose lock is held does not keep the others from being accepted', async () => {
    const world = await newPostgresWorld()
    const held = await addSender(world)
    const other = await addSenderApart(world, held)
    const { intake } = await hurriedProcess(world)
    await lock(world, 'select pg_advisory_xact_lock(2, lane_bucket($1, $2))', [held.accountId, held.number])

    const otherIsAccepted = async () => {
      void intake.accept(candidate(world, held))
      return (await intake.accept(candidate(world, other))).kind === 'accepted'
    }
    await waitUntil('the other is accepted', otherIsAccepted, { deadlineMs: 10_000 })
    assert.equal((await intake.accept(candidate(world, held))).kind, 'unavailable')
    await world.close()
  })

  it('G11: one message that is locked does not keep other lanes from going on', async () => {
    const world = await newPostgresWorld()
    const senders = [await addSender(world), await addSender(world)]
    for (const sender of senders) await accept(world, sender)
    const { lanes } = await hurriedProcess(world)
    const hurried = { ...world, lanes }
    await inTime('it beats', () => lanes.heartbeat(BEN, 15_000))
    const claimed: ClaimedLane[] = []
    await inTime('it holds both lanes', async () => {
      const held = new Set(claimed.map(({ connectionId }) => connectionId))
      const missing = senders.map(({ connectionId }) => connectionId).filter((id) => !held.has(id))
      claimed.push(...(await claim(hurried, BEN, missing)))
      return claimed.length === senders.length
    })
    const heads = await inTime('it knows the heads', () =>
      Promise.all(claimed.map((lane) => head(world, lane.connectionId))),
    )
    await lock(world, 'select from queued where id = $1 for update', [heads[0]!.id])

    const otherGoesOn = async () => {
      const [stuck, gone] = await Promise.allSettled(claimed.map((lane, at) => open(hurried, lane, heads[at]!)))
      assert.equal(stuck?.status, 'rejected')
      return gone?.status === 'fulfilled'
    }
    await waitUntil('the other goes on', otherGoesOn, { deadlineMs: 10_000 })
    await world.close()
  })
})

async function hurriedProcess(world: PostgresWorld): Promise<ReturnType<PostgresWorld['processOf']>> {
  await world.sql(
    `do $$ begin execute format('alter database %I set statement_timeout = ${STATEMENTS_MS}', current_database()); end $$`,
  )
  return world.processOf(BEN, 'spool' as SpoolId)
}

/** Tries again where the server gave up, as on a busy machine it may with anything: nothing was written then. */
function inTime<Answer>(what: string, query: () => Promise<Answer | false>): Promise<Answer> {
  const throttle = (error: unknown) => {
    if (error instanceof StorageUnavailable) return null
    throw error
  }
  return waitUntil(what, () => query().catch(throttle), { deadlineMs: 30_000 })
}

/** Until the end of the world. */
async function lock(world: PostgresWorld, sql: string, values: readonly unknown[]): Promise<void> {
  const session = await world.session()
  await session.query('set statement_timeout = 0; begin')
  await session.query(sql, [...values])
}
