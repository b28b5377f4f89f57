import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { whyNoPgBouncer } from '../../support/postgres/pgbouncer.ts'
import { assertHoldIsShown, assertNothingIsSent, isHeld, waitUntilHeld } from '../gone-back/check-after-hold.ts'
import { ReplicatedCluster } from './replicated-cluster.ts'

const obstacle = whyNoPgBouncer()
const MESSAGES = 20
const SENT_WITHIN_MS = 20_000
// By then the standby has everything written so far, and the service has nothing to do.
const SETTLES_WITHIN_MS = 2_000
const ACCEPTS_WITHIN_MS = 15_000

describe('a failover behind a pooler that keeps the connections of the service open', () => {
  it.skipIf(obstacle !== null)(
    `G12: to an asynchronous standby that has not seen what was sent holds all lanes${skipNote(obstacle)}`,
    () => within(false, lackWhatWasSent),
  )

  it.skipIf(obstacle !== null)(`G12: to a synchronous standby continues by itself${skipNote(obstacle)}`, () =>
    within(true, goOn),
  )
})

async function within(isSynchronous: boolean, run: (world: ReplicatedCluster) => Promise<void>): Promise<void> {
  const world = await ReplicatedCluster.open({ workers: 2, connections: 1, isSynchronous, isPooled: true })
  try {
    await run(world)
  } finally {
    await world.close()
  }
}

async function lackWhatWasSent(world: ReplicatedCluster): Promise<void> {
  const [number = ''] = world.cluster.connections
  await world.cli.json('connection', 'pause', number)
  await acceptSome(world, number)
  await setTimeout(SETTLES_WITHIN_MS)
  world.replication.blackHole()
  await world.cli.json('connection', 'resume', number)
  await untilSent(world, MESSAGES)
  await setTimeout(SETTLES_WITHIN_MS)

  await world.switchOver()

  await waitUntilHeld(world.cli)
  // The standby still has the connection paused. After a person resumes it, nothing may be sent either.
  await world.cli.json('connection', 'resume', number)
  await assertNothingIsSent(world.cli)
  await assertHoldIsShown(world.cli, /^All lanes are held: a standby was promoted that /)
}

async function goOn(world: ReplicatedCluster): Promise<void> {
  const [number = ''] = world.cluster.connections
  await world.noticedThatStandbyConfirms()
  await acceptSome(world, number)
  await untilSent(world, MESSAGES)
  // There is no standby that could confirm the commits of the new primary.
  await world.standby.reload({ synchronous_standby_names: '' })

  await world.switchOver()

  await waitUntil('messages are accepted again', () => isAccepted(world, number), { withinMs: ACCEPTS_WITHIN_MS })
  await untilSent(world, MESSAGES + 1)
  assert.equal(await isHeld(world.cli), false)
}

async function acceptSome(world: ReplicatedCluster, number: string): Promise<void> {
  for (let message = 0; message < MESSAGES; message += 1) assert.ok(await isAccepted(world, number))
}

async function isAccepted({ cluster }: ReplicatedCluster, from: string): Promise<boolean> {
  const answer = await cluster.client.send({
    from,
    to: '15557654321',
    message: { type: 'message', message: 'Hello' },
    idempotencyKey: null,
  })
  return answer.kind === 'acked'
}

async function untilSent({ cli }: ReplicatedCluster, count: number): Promise<void> {
  const isSent = async () => (await cli.json<unknown[]>('sandbox', 'inbox')).length >= count
  await waitUntil(`${count} messages are sent`, isSent, { deadlineMs: SENT_WITHIN_MS })
}
