import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, it } from 'vitest'
import { durabilityOf, newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, addSender, candidate, countMessages, type Sender } from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { SENDABLE } from '../../../../test/support/sendable.ts'
import { TcpProxy } from '../../../../test/support/tcp-proxy.ts'
import type { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { FencedConnection } from '../connection/fenced-connection.ts'
import { PgConnection } from '../connection/pg-connection.ts'
import { PostgresIntake } from './accept.ts'

const NOT_ACCEPTED = { kind: 'unavailable', code: 'not_accepted' }
const UNKNOWN = { kind: 'unavailable', code: 'commit_unknown' }
// How long a statement may take: where a busy machine is to answer each, and where one is given up.
const WAIT_MS = 5_000
const SKIP_MS = 1_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe('what accepting on PostgreSQL says of a commit', () => {
  it('G1: takes one that came with a warning for unknown, although it can be seen', async () => {
    const { world, sender } = await senderWorld()
    const session = await world.session()
    await session.query(raiseOnAccept('warning', 'canceling wait for synchronous replication'))

    const result = await world.intake.accept(candidate(world, sender))

    assert.deepEqual(result, UNKNOWN)
    assert.equal(await countMessages(world), 1)
  })

  it('G1: believes one that came with a mere notice (the control)', async () => {
    const { world, sender } = await senderWorld()
    const session = await world.session()
    await session.query(raiseOnAccept('notice', 'nothing to worry about'))

    assert.equal((await world.intake.accept(candidate(world, sender))).kind, 'accepted')
  })

  it('G1: takes one whose reply was lost for unknown, and the next one is accepted over a new connection', async () => {
    const { world, sender } = await senderWorld()
    const proxy = await openProxy(world.url)
    const intake = openIntake(world, proxy.through(world.url))
    await intake.accept(candidate(world, sender))
    proxy.onServerData = () => 'cut'

    const lost = await intake.accept(candidate(world, sender))
    proxy.heal()
    const next = await intake.accept(candidate(world, sender))

    assert.deepEqual([lost, next.kind], [UNKNOWN, 'accepted'])
    await waitUntil('all three are there', async () => (await countMessages(world)) === 3, { deadlineMs: 30_000 })
  })

  it('G1: answers unknown for what was sent when the server does not answer, and not accepted for everything else', async () => {
    const { world, sender } = await senderWorld()
    const proxy = await openProxy(world.url)
    const intake = openIntake(world, proxy.through(world.url), { ways: 1, answerWithinMs: SKIP_MS })
    await intake.accept(candidate(world, sender))

    proxy.blackHole('server')
    const handedOver = intake.accept(candidate(world, sender))
    await waitUntil('it has been written', async () => (await countMessages(world)) === 2, { deadlineMs: 30_000 })
    // By now the only connection is busy. When it is given up, a new one is made, and the server does not answer that either.
    const began = performance.now()
    const waiting = await intake.accept(candidate(world, sender))
    const waitedMs = performance.now() - began

    assert.deepEqual([await handedOver, waiting], [UNKNOWN, NOT_ACCEPTED])
    assert.ok(waitedMs < 4_500, `answered after ${waitedMs} ms`)
    proxy.heal()
    assert.equal(await countMessages(world), 2)
  })

  it('G11: says not_accepted at once when nothing listens, and accepts as soon as something does', async () => {
    const { world, sender } = await senderWorld()
    const proxy = await openProxy(world.url)
    const failures: StorageUnavailable[] = []
    const intake = openIntake(world, proxy.through(world.url), { failures })
    proxy.acceptsConnections = false

    const began = performance.now()
    const refused = await Promise.all([1, 2, 3].map(() => intake.accept(candidate(world, sender))))
    const logged = await intake.logRefused({ ...candidate(world, sender), status: 400, code: 'HC-2', errors: '[]' })
    const tookMs = performance.now() - began
    proxy.heal()

    assert.deepEqual([...refused, logged], [NOT_ACCEPTED, NOT_ACCEPTED, NOT_ACCEPTED, false])
    assert.ok(tookMs < 2_900, `answered after ${tookMs} ms`)
    assert.equal(failures.at(-1)?.message, 'the database cannot be reached')
    await waitUntil(
      'it accepts again',
      async () => (await intake.accept(candidate(world, sender))).kind === 'accepted',
      { deadlineMs: 30_000 },
    )
  })

  it('G11: says not_accepted of what could not be handed over in time, when the server only seems to be there', async () => {
    const { world, sender } = await senderWorld()
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closing.push(async () => void silent.close())
    const { port } = silent.address() as AddressInfo
    const intake = openIntake(world, `postgres://postgres@127.0.0.1:${port}/none`, { answerWithinMs: SKIP_MS })

    const began = performance.now()
    const results = await Promise.all([1, 2].map(() => intake.accept(candidate(world, sender))))
    const tookMs = performance.now() - began

    assert.deepEqual(results, [NOT_ACCEPTED, NOT_ACCEPTED])
    assert.ok(tookMs > 2_500 && tookMs < 4_500, `answered after ${tookMs} ms`)
  })

  it('G7: remembers no token for longer than a second, also while the database is away', async () => {
    const { world, sender } = await senderWorld()
    const proxy = await openProxy(world.url)
    const intake = openIntake(world, proxy.through(world.url))
    const before = await intake.findToken(sender.sha256)
    proxy.acceptsConnections = false
    proxy.cutAll()

    await world.clock.pass(999)
    const remembered = await intake.findToken(sender.sha256)
    await world.clock.pass(1)

    assert.deepEqual(remembered, before)
    await assert.rejects(async () => intake.findToken(sender.sha256), { name: 'Error', unknown: false })
    await assert.rejects(async () => intake.namesMessage(sender.accountId, 'key'), { name: 'Error', unknown: false })
  })

  it('G1: makes its own commits durable whatever the session is set to, and leaves the session as it was', async () => {
    const { world } = await senderWorld()
    const session = await world.session()
    await session.query('set synchronous_commit = off')
    await session.query('begin')

    await session.query(
      `select * from accept_requests($1, 9, 1, 77, true, $2, $2, $2, $2, $2, null, null, null, $3, $3, $2, $2, $2, $4, $2,
         $2, $2, $4, null, null, null, null, null, $2, 1)`,
      ['w', [], [], []],
    )
    const inside = await durabilityOf(session)
    await session.query('commit')

    assert.deepEqual(inside, ['on', '77ms'])
    assert.deepEqual(await durabilityOf(session), ['off', '0'])
  })
})

async function senderWorld(): Promise<{ world: PostgresWorld; sender: Sender }> {
  const world = await newPostgresWorld()
  closing.push(() => world.close())
  return { world, sender: await addSender(world) }
}

async function openProxy(url: string): Promise<TcpProxy> {
  const proxy = await TcpProxy.open(Number(new URL(url).port))
  closing.push(() => proxy.close())
  return proxy
}

interface IntakeOptions {
  readonly ways?: number
  readonly answerWithinMs?: number
  /** Takes what the intake says of the whole database. */
  readonly failures?: StorageUnavailable[]
}

/** On connections of its own, which are not validated. */
function openIntake(
  world: PostgresWorld,
  url: string,
  { ways = 2, answerWithinMs = WAIT_MS, failures = [] }: IntakeOptions = {},
): PostgresIntake {
  const newConnection = () => {
    const pgConnection = new PgConnection({
      url,
      applicationName: 'test',
      answerWithinMs,
      validateConnection: async () => {},
    })
    closing.push(() => pgConnection.close())
    return pgConnection
  }
  return new PostgresIntake({
    connections: Array.from(
      { length: ways },
      (_, number) => new FencedConnection(ANNA, { number: 100 + number, pgConnection: newConnection() }),
    ),
    lookUps: newConnection(),
    background: newConnection(),
    clock: world.clock,
    health: { failed: (error) => failures.push(error) },
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    acceptingProcesses: () => 1,
  })
}

function raiseOnAccept(severity: 'warning' | 'notice', words: string): string {
  return `
    create function say() returns trigger language plpgsql as $$ begin raise ${severity} '${words}'; return null; end $$;
    create constraint trigger say after insert on queued deferrable initially deferred for each row execute function say();`
}
