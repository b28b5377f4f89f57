import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { describe, it } from 'vitest'
import { Load } from '../support/black-box/load.ts'
import { createRandom } from '../support/black-box/random.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld } from '../support/black-box/world.ts'
import { readRounds, readSeed } from './run-length.ts'

const rounds = readRounds(6)
const seed = readSeed()

interface Received {
  readonly id: string
  readonly messageId: string
  readonly state: string
}

describe('kill -9 while webhooks are posted', () => {
  it(
    'posts every committed change of a state at least once, each under one id and correctly signed',
    async () => {
      const receiver = await openReceiver(createRandom(seed))
      const environment = { NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' }
      const world = await openWorld({ connections: 4, connectionArguments: ['--set', 'latency=10ms'], environment })
      try {
        const { service, cli, client, connections } = world
        const { secret } = await cli.json<{ secret: string }>('webhook', 'add', receiver.url)
        receiver.secret = secret
        const load = new Load({ client, connections, pauseMs: 60, keyedShare: 1, seed })
        load.start()
        const random = createRandom(seed + 1)

        for (let round = 0; round < rounds; round++) {
          await setTimeout(random.between(300, 2_000))
          await service.killNine()
          await service.start()
        }
        await load.stop()

        const messages = await waitUntil(
          'all messages to be told of',
          async () => {
            const all = await cli.json<{ id: string; state: string }[]>('message', 'list')
            const open = all.filter(({ state }) => state === 'QUEUED' || state === 'SENDING')
            const told = new Set(receiver.received.map(({ messageId, state }) => `${messageId} ${state}`))
            const missing = all.filter(({ id, state }) => !told.has(`${id} ${state}`))
            return open.length === 0 && missing.length === 0 ? all : null
          },
          { deadlineMs: 90_000, everyMs: 500 },
        )

        assert.ok(messages.length > 0)
        const idOf = new Map<string, string>()
        for (const { id, messageId, state } of receiver.received) {
          const change = `${messageId} ${state}`
          assert.equal(idOf.get(change) ?? id, id, `${change} came under two ids`)
          idOf.set(change, id)
        }
        assert.deepEqual(receiver.unsigned, [])
      } finally {
        await world.close()
        await receiver.close()
      }
    },
    120_000 + rounds * 10_000,
  )
})

/** Takes most of what comes, answers some with 503, and keeps what it took. */
async function openReceiver(random: ReturnType<typeof createRandom>) {
  const received: Received[] = []
  const unsigned: string[] = []
  const state = { secret: '', url: '', received, unsigned, close: async () => {} }
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8')
      const headers = request.headers as Record<string, string>
      try {
        const notice = new Webhook(state.secret).verify(body, headers) as {
          data: { messageId?: string; state?: string }
        }
        const { messageId, state: becomes } = notice.data
        if (messageId) received.push({ id: String(headers['webhook-id']), messageId, state: String(becomes) })
      } catch (error) {
        unsigned.push(String(error))
      }
      response.writeHead(random.next() < 0.1 ? 503 : 204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  state.close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return state
}
