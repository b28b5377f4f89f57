import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Load, type LoadPlan } from './load.ts'
import type { NuncioCli } from './nuncio-cli.ts'
import { createRandom } from './random.ts'
import { waitUntil } from './wait-until.ts'

interface Received {
  readonly id: string
  readonly messageId: string
  readonly state: string
}

type WebhookReceiver = Awaited<ReturnType<typeof openWebhookReceiver>>

/** Lets a service post to the receiver, which is on this machine. */
export const MAY_POST_HERE = { NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' }

interface Killing extends Pick<LoadPlan, 'client' | 'connections'> {
  readonly cli: Pick<NuncioCli, 'json'>
  readonly rounds: number
  readonly seed: number
  /** Kills a service and starts it again. */
  readonly kill: (round: number) => Promise<void>
}

/** Sends while services are killed, and checks the posts about what was sent. Returns the number of messages. */
export async function postWhileKilled(
  receiver: WebhookReceiver,
  { cli, client, connections, rounds, seed, kill }: Killing,
): Promise<number> {
  const { secret } = await cli.json<{ secret: string }>('webhook', 'add', receiver.url)
  receiver.secret = secret
  const load = new Load({ client, connections, pauseMs: 60, keyedShare: 1, seed })
  load.start()
  const random = createRandom(seed + 1)
  for (let round = 0; round < rounds; round++) {
    await setTimeout(random.between(300, 2_000))
    await kill(round)
  }
  await load.stop()
  return checkReceived(receiver, cli)
}

/** Waits until the last state of each message was posted. Then checks that each change came under one id and was signed. */
async function checkReceived({ received, unsigned }: WebhookReceiver, cli: Pick<NuncioCli, 'json'>): Promise<number> {
  const messages = await waitUntil(
    'all messages to be posted',
    async () => {
      const all = await cli.json<{ id: string; state: string }[]>('message', 'list')
      const open = all.filter(({ state }) => state === 'QUEUED' || state === 'SENDING')
      const posted = new Set(received.map(({ messageId, state }) => `${messageId} ${state}`))
      const missing = all.filter(({ id, state }) => !posted.has(`${id} ${state}`))
      return open.length === 0 && missing.length === 0 ? all : null
    },
    { deadlineMs: 90_000, everyMs: 500 },
  )
  const idOf = new Map<string, string>()
  for (const { id, messageId, state } of received) {
    const change = `${messageId} ${state}`
    assert.equal(idOf.get(change) ?? id, id, `${change} came under two ids`)
    idOf.set(change, id)
  }
  assert.deepEqual(unsigned, [])
  return messages.length
}

/** Accepts most posts, answers some with 503, and keeps the accepted ones. */
export async function openWebhookReceiver(random: ReturnType<typeof createRandom>) {
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
