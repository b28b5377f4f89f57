import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  beat,
  candidate,
  claim,
  type Sender,
  settled,
  step,
} from '../../../../test/conformance/storage-world.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'

const NUMBERS = ['15550100001', '15550100002', '15550100003', '15550100004', '15550100005']
const DAMAGED = 2

let world: PostgresWorld
let senders: readonly Sender[]

beforeEach(async () => {
  world = await newPostgresWorld()
  const sender = await addSender(world, { number: NUMBERS[0] as string })
  const others = NUMBERS.slice(1).map((number) => addConnection(world, sender.accountId, { number }))
  const ids = [sender.connectionId, ...(await Promise.all(others))]
  senders = NUMBERS.map((number, at) => ({ ...sender, number, connectionId: ids[at] as ConnectionId }))
})

afterEach(() => world.close())

// The server cannot read one page or one long value, so only statements that touch it fail.
describe('damage to one lane', () => {
  it('G8 G11: does not stop the acceptance of requests for other lanes', async () => {
    await damage('insert on queued', 'new.connection_id')

    const results = await Promise.all(senders.map((sender) => world.intake.accept(candidate(world, sender))))

    const kinds = results.map((result) => (result.kind === 'unavailable' ? result.code : result.kind))
    assert.deepEqual(kinds, ['accepted', 'accepted', 'not_accepted', 'accepted', 'accepted'])
    assert.equal(await world.storage.isWritable(), true)
  })

  it('G8 G11: does not stop claims of other lanes, and is reported once those are held', async () => {
    for (const sender of senders) await accept(world, sender)
    await damage('update on lane', 'new.connection_id')
    await beat(world, ANNA)

    const lanes = await claim(world, ANNA)
    const thrown = await claim(world, ANNA, [idOf(DAMAGED)]).catch((error: unknown) => error)

    assert.deepEqual(lanes.map(({ connectionId }) => connectionId).toSorted(), others().toSorted())
    assert.ok(thrown instanceof StorageUnavailable && !thrown.unknown)
  })

  it('G3: keeps the lanes that were claimed before the connection breaks', async () => {
    for (const sender of senders.slice(0, 2)) await accept(world, sender)
    const session = await world.session()
    // The claim of both lanes fails, so each is claimed alone: the first succeeds, and the connection ends at the second.
    await session.query(
      `create sequence claims;
       create function meet_twice() returns trigger language plpgsql as $$ begin
         case nextval('claims')
           when 1 then raise 'invalid page in block 7 of relation base/1/2' using errcode = 'data_corrupted';
           when 2 then return new;
           else perform pg_terminate_backend(pg_backend_pid());
         end case;
         return new;
       end $$;
       create trigger meet_twice before update on lane for each row execute function meet_twice()`,
    )
    await beat(world, ANNA)

    const lanes = await claim(world, ANNA)

    const { rows } = await session.query('select connection_id, epoch::integer from lane where owner = $1', [ANNA])
    assert.deepEqual(
      lanes.map(({ connectionId, epoch }) => ({ connection_id: connectionId, epoch })),
      rows,
    )
    assert.equal(lanes.length, 1)
  })

  it('G8 G11: does not stop other lanes, and its own step is written later', async () => {
    for (const sender of senders) await accept(world, sender)
    await beat(world, ANNA)
    const lanes = await claim(world, ANNA)
    const heads = await Promise.all(
      lanes.map(async (lane) => {
        const [message] = await world.lanes.fetchNext(lane.connectionId, 1, 0)
        await world.lanes.record(step(world, lane, { start: { sequence: message!.sequence, number: 1 } }))
        return message!
      }),
    )
    await damage('insert on settled', 'new.connection_id')
    const end = () =>
      Promise.all(
        lanes.map((lane, at) =>
          world.lanes.record(step(world, lane, { finish: settled(world, heads[at]!) })).then(
            () => lane.connectionId,
            (error: unknown) => error,
          ),
        ),
      )

    const ended = await end()
    await repair('settled')
    const endedLater = await end()

    const [error, ...more] = ended.filter((one) => typeof one !== 'string')
    assert.deepEqual(ended.filter((one) => typeof one === 'string').toSorted(), others().toSorted())
    assert.ok(error instanceof StorageUnavailable && !error.unknown)
    assert.deepEqual(more, [])
    assert.ok(endedLater.includes(idOf(DAMAGED)))
  })
})

function idOf(at: number): ConnectionId {
  return (senders[at] as Sender).connectionId
}

function others(): ConnectionId[] {
  return senders.map(({ connectionId }) => connectionId).filter((id) => id !== idOf(DAMAGED))
}

async function damage(event: string, connectionId: string): Promise<void> {
  const session = await world.session()
  await session.query(
    `create function meet_damage() returns trigger language plpgsql as $$ begin
       if ${connectionId} = '${idOf(DAMAGED)}' then
         raise 'invalid page in block 7 of relation base/1/2' using errcode = 'data_corrupted';
       end if;
       return new;
     end $$;
     create trigger meet_damage before ${event} for each row execute function meet_damage()`,
  )
}

async function repair(table: string): Promise<void> {
  const session = await world.session()
  await session.query(`drop trigger meet_damage on ${table}`)
}
