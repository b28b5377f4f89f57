import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, accept, addSender, beat, stateOf } from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { SpoolId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { MediaQueue } from '../../../core/ports/media-queue.ts'

const HERE = 'spool-here' as SpoolId
const FILE = { path: 'spool/file', sizeBytes: 1_000, sha256: '00', mime: 'image/png' }

// Cancelling locks all of its messages and then ends their fetches. A transaction that ends a fetch must take locks in the same
// order, or the two would deadlock.
describe('the end of a fetch on PostgreSQL during a cancellation', () => {
  it.each<[string, (queue: MediaQueue, sequence: Sequence, at: number) => Promise<unknown>]>([
    ['a failed fetch', (queue, sequence, at) => queue.fail(sequence, { code: 'media_status', words: '404', at })],
    [
      'a lost file',
      async (queue, sequence, at) => {
        await queue.ready(sequence, { file: FILE, tookMs: 5, at })
        return queue.lost([{ sequence, path: FILE.path }], { at, mostTries: 1 })
      },
    ],
  ])('locks the message before any other row: %s', async (_, end) => {
    const world = await newPostgresWorld()
    const id = await accept(world, await addSender(world), { media: true })
    const { mediaQueue, lanes } = world.processOf(ANNA, HERE)
    await beat({ ...world, lanes }, ANNA)
    const wide = {
      busy: new Set<Sequence>(),
      after: null,
      fullHosts: [],
      accountsAtOnce: 10,
      perAccount: 10,
      quotaBytes: 1_000_000,
    }
    const [wanted] = (await mediaQueue.due({ now: world.clock.now(), ...wide })).media
    const sequence = wanted!.sequence
    await mediaQueue.take([sequence])
    const [person, watcher] = [await world.session(), await world.session()]
    await person.query('begin')
    await person.query(`select from queued where sequence = ${sequence} for update`)

    const ended = end(mediaQueue, sequence, world.clock.now())
    await waitUntil('it waits for the message', async () => (await watcher.query(WAITING)).rows.length > 0, {
      deadlineMs: 10_000,
      everyMs: 5,
    })
    await person.query(`update media set words = 'touched' where message_sequence = ${sequence}`)
    await person.query('commit')
    await ended

    assert.equal(await stateOf(world, id), 'FAILED')
    await world.close()
  })
})

const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
  and application_name like 'nuncio%'`
