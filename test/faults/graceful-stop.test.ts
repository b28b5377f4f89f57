import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 6, quick: 2 })
const seed = readSeed()
const RECIPIENT = '15550100000'
// Long enough that commands see it, which take seconds on a busy machine. Shorter than the 25 s that a stopping service gives to
// its calls.
const CALL_MS = 15_000
const SLOW = { connections: 1, connectionArguments: ['--set', `latency=${CALL_MS}ms`] }
const STOPS = { deadlineMs: 20_000 }

describe('SIGTERM', () => {
  it(
    'G4: repeated under load, leaves no attempt unknown and exits with code 0',
    async () => {
      const world = await openWorld({ connections: 10, connectionArguments: ['--set', 'latency=100ms'] })
      try {
        const { service, client, connections } = world
        const load = new Load({ client, connections, pauseMs: 200, keyedShare: 0.3, seed })
        const random = createRandom(seed)
        let slowestMs = 0
        load.start()
        for (let round = 0; round < rounds; round += 1) {
          await setTimeout(random.between(200, 1_500))
          const askedAt = performance.now()
          service.signal('SIGTERM')
          assert.deepEqual(await service.ended(30_000), { code: 0, signal: null })
          slowestMs = Math.max(slowestMs, Math.round(performance.now() - askedAt))
          await service.start()
        }
        await load.stop()

        const { counts, states, input } = await checkRun(world, load.requests)

        const unknown = input.attempts?.filter(({ outcome }) => outcome === 'unknown') ?? []
        printTable('SIGTERM', { rounds, seed, ...counts, ...states, 'unknown attempts': unknown.length, slowestMs })
        assert.deepEqual(unknown, [])
        assert.equal(states['UNCONFIRMED'], undefined)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )

  it('G4: lets an open call finish, and records its result', async () => {
    const world = await openWorld(SLOW)
    try {
      const id = await openSlowCall(world)

      world.service.signal('SIGTERM')
      const ending = await world.service.ended(40_000)

      assert.deepEqual(ending, { code: 0, signal: null })
      assert.equal(await stateOf(world, id), 'PUBLISHED')
    } finally {
      await world.close()
    }
  })

  it('G4: ends the service at once when it comes twice, and the open call is not forgotten', async () => {
    const world = await openWorld({ ...SLOW, environment: { NUNCIO_LOG_LEVEL: 'info' } })
    try {
      const id = await openSlowCall(world)

      world.service.signal('SIGTERM')
      await waitUntil('it stops', async () => world.service.log.includes('a second signal forces it'), STOPS)
      world.service.signal('SIGTERM')
      await world.service.ended(60_000)

      // It has not waited for the call.
      assert.equal(await stateOf(world, id), 'SENDING')
      await world.service.start()
      const end = await waitUntil('the message ends', async () => endOf(await stateOf(world, id)), {
        deadlineMs: 90_000,
      })
      assert.ok(['PUBLISHED', 'UNCONFIRMED'].includes(end), end)
    } finally {
      await world.close()
    }
  })
})

async function openSlowCall(world: World): Promise<string> {
  const [from = ''] = world.connections
  const message = { type: 'message', message: 'takes its time' }
  const answer = await world.client.send({ from, to: RECIPIENT, message, idempotencyKey: null })
  assert.ok(answer.kind === 'acked')
  const { messageId } = answer
  const isOpen = async () => (await stateOf(world, messageId)) === 'SENDING'
  await waitUntil('the call is open', isOpen, { deadlineMs: CALL_MS })
  return messageId
}

async function stateOf({ cli }: World, id: string): Promise<string> {
  const messages = await cli.json<{ id: string; state: string }[]>('message', 'list')
  return messages.find((message) => message.id === id)?.state ?? 'gone'
}

function endOf(state: string): string | null {
  return ['QUEUED', 'SENDING'].includes(state) ? null : state
}
