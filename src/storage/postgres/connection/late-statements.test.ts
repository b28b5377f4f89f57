import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { Client } from 'pg'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, accept, addSender, holdLane, step } from '../../../../test/conformance/storage-world.ts'
import { type ClaimedLane, type LaneTransition, StorageUnavailable } from '../../../core/ports/lanes.ts'
import { StepWriter } from '../lanes/record-step.ts'
import { FencedConnection } from './fenced-connection.ts'
import { PgConnection, type Row } from './pg-connection.ts'

// A network that let nothing through for a while may deliver what was sent over a connection that both sides have given up
// since. Here each is what such a statement would be, on a connection of its own.
describe('what comes late on PostgreSQL', () => {
  it('G5: has a lane remember nothing that is out of date', async () => {
    const { world, lane, session } = await heldLane()

    await session.query(remember(lane, 2, 'newer'))
    const late = session.query(remember(lane, 1, 'older'))

    await assert.rejects(late, { code: '55000' })
    assert.equal((await world.lanes.inspect(lane))?.memory.wait?.words, 'newer')
    await world.close()
  })

  it('G5: has a lane remember nothing that is out of date either where the next step went over another connection', async () => {
    const { world, lane, session } = await heldLane()
    const pgConnection = new PgConnection({
      url: world.url,
      applicationName: 'test',
      answerWithinMs: 8_000,
      validateConnection: async () => {},
    })
    const slow = new SlowConnection()
    const connections = [slow.asConnection(), pgConnection].map(
      (each, at) => new FencedConnection(ANNA, { number: 90 + at, pgConnection: each }),
    )
    const writer = new StepWriter(connections)

    await assert.rejects(writer.write(waiting(world, lane, 'older')), { unknown: true })
    // So that the next ones go the other way.
    slow.isStuck = true
    void writer.write(waiting(world, lane, 'stuck'))
    while (slow.taken.length < 2) await setImmediate()
    await writer.write(waiting(world, lane, 'older'))
    await writer.write(waiting(world, lane, 'newer'))
    const late = session.query(...slow.taken[0]!)

    await assert.rejects(late, { code: '55000' })
    assert.equal((await world.lanes.inspect(lane))?.memory.wait?.words, 'newer')
    await pgConnection.close()
    await world.close()
  })

  it('would have it remembered if it came in its turn', async () => {
    const { world, lane, session } = await heldLane()

    await session.query(remember(lane, 1, 'older'))
    await session.query(remember(lane, 2, 'newer'))
    await session.query(remember(lane, 2, 'the same once more'))

    assert.equal((await world.lanes.inspect(lane))?.memory.wait?.words, 'the same once more')
    await world.close()
  })

  it('G5: opens nothing', async () => {
    const { world, lane, session } = await heldLane()
    const [message] = await world.lanes.fetchNext(lane.connectionId, 1, 0)
    const open = (count: number, sequence: number) =>
      session.query(`${stepOf(lane, count)}, open_sequences => '{${sequence}}', open_numbers => '{1}') as letter`)

    const nothingThere = await open(2, 7)
    const late = open(1, message!.sequence)

    assert.equal(nothingThere.rows[0]?.letter, 'n')
    await assert.rejects(late, { code: '55000' })
    assert.equal((await world.lanes.inspect(lane))?.open, null)
    await world.close()
  })

  it('is not accepted any more, because its caller may have retried', async () => {
    const { world, session } = await heldLane()
    const nothing = Array.from({ length: 25 }, () => 'null').join(', ')
    const acceptRequests = (count: number) =>
      session.query(`select * from accept_requests('anna', 98, ${count}, 1000, true, ${nothing})`)

    await acceptRequests(2)
    await acceptRequests(2)

    await assert.rejects(acceptRequests(1), { code: '55000' })
    await world.close()
  })
})

/** Takes what is to be asked, and answers nothing. */
class SlowConnection {
  readonly taken: [sql: string, values: unknown[]][] = []
  isStuck = false

  asConnection(): PgConnection {
    return { query: (sql: string, values: unknown[]) => this.#take(sql, values) } as unknown as PgConnection
  }

  #take(sql: string, values: unknown[]): Promise<Row[]> {
    this.taken.push([sql, values])
    if (this.isStuck) return new Promise(() => {})
    return Promise.reject(new StorageUnavailable('the connection to the database broke', true))
  }
}

function waiting(world: PostgresWorld, lane: ClaimedLane, words: string): LaneTransition {
  return step(world, lane, {
    memory: { failureStreak: null, wait: { reason: 'retrying', words, until: 9 } },
  })
}

async function heldLane(): Promise<{ world: PostgresWorld; lane: ClaimedLane; session: Client }> {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  return { world, lane, session: await world.session() }
}

/** The `count`th step of a connection: it ends nothing and opens nothing. */
function remember(lane: ClaimedLane, count: number, words: string): string {
  return `${stepOf(lane, count)}, extras => '{1}', changes_memory => '{true}', wait_reasons => '{retrying}',
    wait_texts => '{${words}}', wait_untils => '{9}', notes_attempt => '{false}')`
}

/** A call without its last parameters and the bracket behind them. */
function stepOf({ connectionId, accountId, epoch }: ClaimedLane, count: number): string {
  return `select write_steps('anna', 99, ${count}, 1000, false, '{${connectionId}}', '{${accountId}}', '{${epoch}}', '{1}'`
}
