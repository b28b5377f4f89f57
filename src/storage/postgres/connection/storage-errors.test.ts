import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, accept, addSender, beat } from '../../../../test/conformance/storage-world.ts'
import { openAdministration } from '../queries/open-administration.ts'

// As a server speaks whose disk is full.
const FULL = `create function full_disk() returns trigger language plpgsql as
  $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$`
const FULL_FOR_COMMANDS = `create function no_room() returns event_trigger language plpgsql as
  $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$;
  create event trigger no_room on ddl_command_start when tag in ('CREATE TABLE AS') execute function no_room()`
const CAUSE = 'The disk of the database server is full.'

let world: PostgresWorld
afterEach(() => world.close())

async function visit<Result>(read: (visitor: Awaited<ReturnType<typeof openAdministration>>) => Promise<Result>) {
  const visitor = await openAdministration({ url: world.url, migrateUrl: world.url }, { create: false })
  try {
    return await read(visitor)
  } finally {
    await visitor.close()
  }
}

describe('a PostgreSQL that can write nothing', () => {
  it('G10: is noticed by the heartbeat of each process, with its cause', async () => {
    world = await newPostgresWorld()
    await beat(world, ANNA)
    const before = world.storage.health.error
    const session = await world.session()
    await session.query(
      `${FULL}; create trigger no_room before insert or update on worker execute function full_disk()`,
    )

    await assert.rejects(beat(world, ANNA))

    assert.equal(before, null)
    assert.equal(world.storage.health.error?.cause, CAUSE)
  })

  it('G10: is noticed by a message that was turned away, while heartbeats are written', async () => {
    world = await newPostgresWorld()
    const sender = await addSender(world)
    const session = await world.session()
    await session.query(`${FULL}; create trigger no_room before insert on queued execute function full_disk()`)

    await assert.rejects(accept(world, sender))
    await beat(world, ANNA)

    assert.equal(world.storage.health.error?.cause, CAUSE)
    assert.equal(await world.storage.isWritable(), false)
  })

  it('G10: is noticed by a visitor who only reads', async () => {
    world = await newPostgresWorld()
    const { accountId } = await addSender(world)
    const session = await world.session()

    const healthy = await visit(({ store }) => store.findStorageError?.() ?? Promise.resolve(null))
    await session.query(FULL_FOR_COMMANDS)
    const [connection] = await visit(({ administration }) => administration.listConnections(accountId))

    assert.equal(healthy, null)
    assert.deepEqual([connection?.reason, connection?.reasonWords], ['storage_unavailable', CAUSE])
  })
})
