import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Clock } from '../../../src/core/ports/clock.ts'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'
import { codesOf } from './raw-connection.ts'
import { realClock } from './real-clock.ts'
import { GOOD_BODY, type ServerUnderTest, withServer } from './server-under-test.ts'
import { ACCOUNT, FROM } from './stub-intake.ts'
import { until } from './until.ts'

// The rate of an account never refills, so that no test depends on timing.
const STOPPED: Clock = { ...realClock, monotonic: () => 0 }
const KEY = 'order-4711'
const keyed = { headers: { 'Idempotency-Key': KEY } }

type Exceed = (server: ServerUnderTest) => Promise<unknown>

/** Each makes one limit refuse the next request. */
const LIMITS: readonly [string, Exceed][] = [
  ['rate_exceeded', (server) => server.ask()],
  ['account_backlog_full', async ({ intake }) => intake.full.add(ACCOUNT)],
  ['connection_backlog_full', async ({ intake }) => intake.full.add(FROM)],
]

const CASES = LIMITS.flatMap(([code, exceed]) => ['at once', 'later'].map((when) => [code, when, exceed] as const))

/** A server whose account may send two messages, one of them sent under the key. */
async function withKnownKey(test: (server: ServerUnderTest) => Promise<void>): Promise<void> {
  await withServer({ clock: STOPPED, acceptRatePerAccount: 2 }, async (server) => {
    await server.ask(keyed)
    await test(server)
  })
}

async function statusesOf(server: ServerUnderTest, count: number): Promise<readonly (number | undefined)[]> {
  const statuses = []
  for (let asked = 0; asked < count; asked++) statuses.push((await server.ask(keyed))?.status)
  return statuses
}

describe.each(CASES)('a key and %s, with storage that answers %s', (code, when, exceed) => {
  it('is answered if it names a message, however often it comes', async () => {
    await withKnownKey(async (server) => {
      await exceed(server)
      if (when === 'later') server.intake.answerLookUpsLater()

      assert.deepEqual(await statusesOf(server, 3), [200, 200, 200])
      assert.deepEqual(server.counted.slice(-3), ['200 replayed', '200 replayed', '200 replayed'])
      // Each key was looked up once, although several limits would refuse it.
      assert.deepEqual(server.intake.keyLookUps, [KEY, KEY, KEY])
    })
  })

  it.each([
    ['names none', 'new', ['new']],
    ['is missing', null, []],
    ['cannot be read', 'é', []],
  ])('is refused if it %s', async (_, key, lookUps) => {
    await withKnownKey(async (server) => {
      await exceed(server)
      if (when === 'later') server.intake.answerLookUpsLater()

      const reply = await server.ask({ headers: { 'Idempotency-Key': key } })

      assert.deepEqual([reply?.status, codesOf(reply)], [429, [code]])
      assert.deepEqual(server.intake.keyLookUps, lookUps)
      assert.equal(server.intake.refused.length, 1)
    })
  })

  it('is refused for its body before it counts as a repeat', async () => {
    await withKnownKey(async (server) => {
      await exceed(server)
      if (when === 'later') server.intake.answerLookUpsLater()

      const reply = await server.ask({ ...keyed, body: GOOD_BODY.replace('"Hello"', '""') })

      assert.deepEqual([reply?.status, codesOf(reply)], [400, ['text_empty']])
    })
  })
})

describe('a key while no limit is reached', () => {
  it('is not looked up, whether known or new', async () => {
    await withServer({}, async (server) => {
      const replies = [await server.ask(keyed), await server.ask(keyed)]

      assert.deepEqual(
        replies.map((reply) => reply?.headers['x-message-id']),
        ['message-1', 'message-1'],
      )
      assert.deepEqual(server.intake.keyLookUps, [])
    })
  })

  it('does not count against the rate of the account if it only repeats', async () => {
    await withKnownKey(async (server) => {
      const repeats = await statusesOf(server, 5)
      const others = [(await server.ask())?.status, (await server.ask())?.status]

      assert.deepEqual(repeats, [200, 200, 200, 200, 200])
      assert.deepEqual(others, [200, 429])
      assert.deepEqual(server.intake.keyLookUps, [])
    })
  })

  it('gives nothing back to a rate from which it took nothing', async () => {
    await withKnownKey(async (server) => {
      await server.ask()
      const repeats = await statusesOf(server, 3)

      assert.deepEqual(repeats, [200, 200, 200])
      assert.equal((await server.ask())?.status, 429)
    })
  })
})

describe.each(LIMITS)('%s, and a key that cannot be looked up', (code, exceed) => {
  it.each([false, true])('is reported as safe to send again: unknown %s', async (isUnknown) => {
    await withKnownKey(async (server) => {
      await exceed(server)
      failKeys(server, new StorageUnavailable('secret', isUnknown))

      const reply = await server.ask(keyed)

      assert.deepEqual([reply?.status, codesOf(reply)], [503, ['not_accepted']])
      assert.deepEqual([server.faults, server.intake.refused], [[], []])
    })
  })

  it('is a fault if the cause is another', async () => {
    await withKnownKey(async (server) => {
      await exceed(server)
      failKeys(server, new Error('no such table: secret'))

      const reply = await server.ask(keyed)

      assert.equal(reply?.status, 500)
      assert.doesNotMatch(reply?.text ?? '', /secret/)
      assert.equal(server.faults.length, 1)
      // Its token is known, so it is in the API log.
      assert.equal(server.intake.refused[0]?.status, 500)
    })
  })

  it('is given up in time, and the late answer changes nothing', async () => {
    // Time must pass here, so the rate needs a quarter of an hour to refill.
    const rate = { acceptRatePerAccount: code === 'rate_exceeded' ? 1 : 0, acceptingProcesses: () => 1000 }
    await withServer({ ...rate, limits: { storageWaitMs: 150 } }, async (server) => {
      await server.ask(keyed)
      await exceed(server)
      const late = Promise.withResolvers<boolean>()
      server.intake.namesMessage = () => late.promise

      const reply = await server.ask(keyed)
      late.resolve(true)
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)

      assert.deepEqual([reply?.status, codesOf(reply)], [503, ['not_accepted']])
      assert.equal(server.intake.accepted.length, 1)
    })
  })
})

describe('a caller whose key is being looked up', () => {
  const SHORT_TIMES = { headersTimeoutMs: 1_500, requestTimeoutMs: 1_500, checkIntervalMs: 50 }

  /** The account is full, so the key must be looked up; `names` is the result. */
  function holdKeys({ intake }: ServerUnderTest) {
    intake.full.add(ACCOUNT)
    const asked = Promise.withResolvers<void>()
    const names = Promise.withResolvers<boolean>()
    intake.namesMessage = () => {
      asked.resolve()
      return names.promise
    }
    return { asked: asked.promise, names }
  }

  it('may disconnect before its body has come: it is refused for that, and never accepted', async () => {
    await withKnownKey(async (server) => {
      const { asked, names } = holdKeys(server)
      const connection = await server.connect()
      connection.send(server.write(keyed).subarray(0, -1))
      await asked
      connection.close()
      await until(() => server.intake.refused.length === 1)
      names.resolve(true)
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)

      assert.match(server.intake.refused[0]!.errors, /malformed_request/)
      assert.deepEqual([server.intake.refused.length, server.intake.accepted.length, server.faults], [1, 1, []])
    })
  })

  it('and that was too slow is not asked for the body afterwards', async () => {
    await withServer({ limits: SHORT_TIMES }, async (server) => {
      await server.ask(keyed)
      const { names } = holdKeys(server)
      const refusing = Promise.withResolvers<void>()
      const logged = Promise.withResolvers<boolean>()
      server.intake.logRefused = () => {
        refusing.resolve()
        return logged.promise
      }
      const connection = await server.connect()
      const length = { 'Content-Length': String(GOOD_BODY.length) }
      connection.send(server.write({ headers: { ...keyed.headers, ...length, Expect: '100-continue' }, body: '' }))

      await refusing.promise
      names.resolve(true)
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
      logged.resolve(true)
      const reply = await connection.nextReply()

      // The status is not 100.
      assert.deepEqual([reply?.status, codesOf(reply)], [408, ['request_too_slow']])
      assert.equal(await connection.untilClosed(), '')
    })
  })
})

describe('a rate that several processes share', () => {
  it('lets this process use only its part', async () => {
    await withServer({ clock: STOPPED, acceptRatePerAccount: 6, acceptingProcesses: () => 3 }, async (server) => {
      const statuses = []
      for (let asked = 0; asked < 3; asked++) statuses.push((await server.ask())?.status)

      assert.deepEqual(statuses, [200, 200, 429])
    })
  })
})

function failKeys({ intake }: ServerUnderTest, error: Error): void {
  intake.namesMessage = () => Promise.reject(error)
}
