import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { newPostgresWorld, untilSessionWaits } from '../../../../test/conformance/postgres-world.ts'
import { accept, addConnection, addSender, candidate, type Sender } from '../../../../test/conformance/storage-world.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import { AuthorizationCache } from './authorization-cache.ts'

const DAY_MS = 24 * 3_600_000
const KNOWN_FOR_MS = 5_000
const CON = 'con_1' as ConnectionId

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe('what is known of tokens and connections', () => {
  it('is nothing before the database has decided', () => {
    assert.equal(new AuthorizationCache(new HandClock()).find({ tokens: [], targets: [] }), null)
  })

  it('ends with the first of the tokens, and names the connection of each target', () => {
    const rights = knownRights()
    rights.noteToken('sooner', 50)

    assert.deepEqual(rights.find({ tokens: ['token', 'sooner'], targets: ['target', 'target'] }), {
      version: 'mark',
      until: 50,
      connections: [CON, CON],
    })
  })

  it('is nothing of a batch in which anything is new', () => {
    const rights = knownRights()

    assert.equal(rights.find({ tokens: ['token', 'new'], targets: ['target'] }), null)
    assert.equal(rights.find({ tokens: ['token'], targets: ['target', 'new'] }), null)
  })

  it('is forgotten when it was decided by another version, and when there is too much of it', () => {
    const [others, many] = [knownRights(), knownRights({ most: 1 })]

    others.begin('another')
    many.begin('mark')

    assert.equal(others.find({ tokens: ['token'], targets: [] }), null)
    assert.equal(many.find({ tokens: ['token'], targets: [] }), null)
  })

  it('is forgotten after a few seconds', async () => {
    const clock = new HandClock()
    const rights = knownRights({ clock })
    const find = () => rights.find({ tokens: ['token'], targets: [] })

    await clock.pass(KNOWN_FOR_MS - 1)
    assert.notEqual(find(), null)
    await clock.pass(1)
    assert.equal(find(), null)
    rights.begin('mark')
    rights.noteToken('token', 100)
    assert.notEqual(find(), null)
  })
})

describe('a right that is taken away on PostgreSQL after it was known', () => {
  const ways: readonly (readonly [string, string, object])[] = [
    ['the token is deleted', 'update token set deleted_at = 1 where id = $1', refused('unauthorized')],
    ['the record of the token is gone', 'delete from token where id = $1', refused('unauthorized')],
    ['the token ends sooner', 'update token set expires_at = 1 where id = $1', refused('unauthorized')],
    ['the token loses its event', `update token set events = '[]' where id = $1`, refused('event_missing')],
    [
      'the token is bound to another connection',
      `update token set connection_ids = '["con_other"]' where id = $1`,
      refused('connection_not_allowed'),
    ],
    [
      'the connection is removed',
      `update connection set state = 'removed' where id = $2`,
      refused('connection_not_found'),
    ],
    ['its number changes', `update connection set number = '15559' where id = $2`, refused('connection_not_found')],
  ]

  it.each(ways)('G7: is refused at once, and while it waits for a lock: %s', async (_, sql, expected) => {
    const { world, senders } = await knowingWorld()
    const [before, meanwhile] = senders
    const session = await world.session()
    const change = (sender: Sender) => session.query(withOwn(sql, sender))

    await change(before)
    const after = await world.intake.accept(candidate(world, before))
    await accept(world, meanwhile)
    await session.query('begin')
    await change(meanwhile)
    const waiting = world.intake.accept(candidate(world, meanwhile))
    await untilSessionWaits(world)
    await session.query('commit')

    assert.deepEqual([after, await waiting], [expected, expected])
  })

  it('G7: would be accepted if the version did not change (the control)', async () => {
    const { world, senders } = await knowingWorld()
    const [sender, other] = senders
    const session = await world.session()
    await session.query('drop trigger mark on token; drop trigger mark on connection')

    await session.query(withOwn('update token set deleted_at = 1 where id = $1', sender))
    await session.query(withOwn(`update connection set state = 'removed' where id = $2`, other))

    assert.equal((await world.intake.accept(candidate(world, sender))).kind, 'accepted')
    assert.equal((await world.intake.accept(candidate(world, other))).kind, 'accepted')
  })

  it('G7: is refused from the moment on at which the token ends', async () => {
    const { world, senders } = await knowingWorld({ tokenLastsDays: 1 })
    const [sender] = senders

    await world.clock.pass(DAY_MS - 2)
    await accept(world, sender)
    await world.clock.pass(1)
    const last = await world.intake.accept(candidate(world, sender))
    await world.clock.pass(1)
    const late = await world.intake.accept(candidate(world, sender))

    assert.deepEqual([last.kind, late], ['accepted', refused('unauthorized')])
  })

  it('G7: is refused also when a mark was never written, or is gone', async () => {
    const { world, senders } = await knowingWorld()
    const [sender] = senders
    const session = await world.session()
    await session.query('delete from rights')

    await accept(world, sender)
    await session.query(withOwn('update token set deleted_at = 1 where id = $1', sender))

    assert.deepEqual(await world.intake.accept(candidate(world, sender)), refused('unauthorized'))
    assert.equal((await session.query('select mark from rights')).rowCount, 1)
  })

  it('G7: is refused where the session that revoked it has another schema first in its search path, and where it only replicates', async () => {
    const { world, senders } = await knowingWorld()
    const [sender, other] = senders
    const [elsewhere, replicating] = [await world.session(), await world.session()]
    await elsewhere.query(`create schema elsewhere; create table elsewhere.rights (like public.rights including all);
      set search_path = elsewhere, public`)
    await replicating.query('set session_replication_role = replica')

    await elsewhere.query(withOwn('update public.token set deleted_at = 1 where id = $1', sender))
    const first = await world.intake.accept(candidate(world, sender))
    await accept(world, other)
    await replicating.query(withOwn(`update connection set state = 'removed' where id = $2`, other))
    const second = await world.intake.accept(candidate(world, other))

    assert.deepEqual([first, second], [refused('unauthorized'), refused('connection_not_found')])
  })

  it('G7: is refused after a few seconds even when the database notifies no process of it', async () => {
    const { world, senders } = await knowingWorld()
    const [sender] = senders
    const session = await world.session()
    await session.query('truncate token')

    await world.clock.pass(KNOWN_FOR_MS)

    assert.deepEqual(await world.intake.accept(candidate(world, sender)), refused('unauthorized'))
  })

  it('G1 G12: a connection that a database has lost with its last commits is not believed to be there', async () => {
    const { world, senders } = await knowingWorld()
    const [sender] = senders
    const session = await world.session()
    const { rows } = await session.query<{ mark: string }>('select mark from rights')
    const number = '15557770000'
    const lost = { ...sender, number, connectionId: await addConnection(world, sender.accountId, { number }) }
    await accept(world, lost)
    // What a standby that takes over has not received.
    await session.query(`begin; set local session_replication_role = replica; alter table connection disable trigger mark;
      delete from queued where connection_id = '${lost.connectionId}'; delete from lane where connection_id = '${lost.connectionId}';
      delete from connection where id = '${lost.connectionId}'; update rights set mark = '${rows[0]?.mark}';
      alter table connection enable always trigger mark; commit`)

    const gone = await world.intake.accept(candidate(world, lost))
    const connectionId = await addConnection(world, sender.accountId, { number })
    const back = await world.intake.accept(candidate(world, { ...lost, connectionId }))

    assert.deepEqual(gone, refused('connection_not_found'))
    assert.equal(back.kind === 'accepted' && back.connectionId, connectionId)
  })

  it('G7: a token that is bound to connections is checked with each of them', async () => {
    const { world, senders } = await knowingWorld()
    const [sender] = senders
    const number = '15557770000'
    const unbound = { ...sender, number, connectionId: await addConnection(world, sender.accountId, { number }) }
    await accept(world, unbound)
    const session = await world.session()
    await session.query('update token set connection_ids = $2 where id = $1', [
      sender.tokenId,
      JSON.stringify([sender.connectionId]),
    ])

    await accept(world, sender)
    await accept(world, sender)

    assert.deepEqual(await world.intake.accept(candidate(world, unbound)), refused('connection_not_allowed'))
  })

  it('is accepted on when nothing of it was taken away', async () => {
    const { world, senders } = await knowingWorld()
    const [sender, other] = senders
    const session = await world.session()

    await session.query(withOwn('update token set deleted_at = 1 where id = $1', other))
    await session.query(withOwn(`update connection set state = 'paused' where id = $2`, sender))

    await accept(world, sender)
    await accept(world, sender)
  })

  it('lets two people take away rights at once, however they cross', async () => {
    const { world, senders } = await knowingWorld()
    const [one, two] = senders
    const sessions = [await world.session(), await world.session()] as const
    const remove = (at: 0 | 1, sender: Sender) =>
      sessions[at].query(withOwn('update token set deleted_at = 1 where id = $1', sender))
    for (const session of sessions) await session.query(`begin; set local lock_timeout = '3s'`)

    await remove(0, one)
    await remove(1, two)
    for (const session of sessions) await session.query('commit')

    assert.deepEqual(await world.intake.accept(candidate(world, one)), refused('unauthorized'))
    assert.deepEqual(await world.intake.accept(candidate(world, two)), refused('unauthorized'))
  })

  it('is marked once by a transaction that takes many away', async () => {
    const { world } = await knowingWorld()
    // Another session made them: what it counted of earlier transactions would be in these figures, too.
    const [session, other] = [await world.session(), await world.session()]
    await other.query(
      `insert into connection (id, account_id, number, channel, state, policy, channel_settings, created_at)
         select 'con_' || i, account_id, '1666' || i, channel, state, policy, channel_settings, 0
           from generate_series(1000, 2000) i, (select * from connection limit 1) c`,
    )

    await session.query('begin')
    await session.query(`update connection set state = 'removed' where id like 'con_1___'`)
    await session.query('set constraints all immediate')
    const { rows } = await session.query<{ updates: string }>(
      `select n_tup_upd as updates from pg_stat_xact_user_tables where relname = 'rights'`,
    )
    await session.query('commit')

    assert.equal(Number(rows[0]?.updates), 1)
  })
})

function knownRights({ clock = new HandClock(), most = 10 } = {}): AuthorizationCache {
  const rights = new AuthorizationCache(clock, most)
  rights.begin('mark')
  rights.noteToken('token', 100)
  rights.noteTarget('target', CON)
  return rights
}

function refused(code: string): object {
  return { kind: 'refused', code }
}

/** Two senders of which all is known that can be known. */
async function knowingWorld(given: { tokenLastsDays?: number } = {}) {
  const world = await newPostgresWorld()
  closing.push(() => world.close())
  const senders = [await addSender(world, given), await addSender(world, given)] as const
  // The first time the channel is learnt.
  for (const sender of [...senders, ...senders]) await accept(world, sender)
  return { world, senders }
}

/** With the token and the connection of this sender for `$1` and `$2`, of which one may be missing. */
function withOwn(sql: string, { tokenId, connectionId }: Sender): string {
  return sql.replace('$1', `'${tokenId}'`).replace('$2', `'${connectionId}'`)
}
