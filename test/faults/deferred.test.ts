import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { printTable } from '../support/black-box/print-table.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { deferredAtOnce } from './run-length.ts'

// Busy twice: the first message to this recipient waits for its retry, and all later ones wait behind it.
const BUSY = '15550100002'
const OTHER = '447900000001'
const SENT_AT_ONCE = 32
const RESUMED_WITHIN_MS = 20_000

interface Explained {
  readonly state: string
  readonly attempts: number
  readonly waitsFor: string | null
}

describe('a service that is killed while thousands of its messages are deferred', () => {
  it('G2 G3: sends to other recipients within 20 s of its next start, and retries the message that the rest waits for', async () => {
    const world = await openWorld({ connections: 1 })
    try {
      const first = await send(world, BUSY, 'first')
      const deferred = await sendMany(world, deferredAtOnce())
      await waitUntil('it was tried', async () => (await explain(world, first)).attempts > 0, { deadlineMs: 20_000 })

      await world.service.killNine()
      await world.service.start()
      const startedAt = performance.now()
      const other = await send(world, OTHER, 'to another')
      await publish(world, other)
      const tookMs = Math.round(performance.now() - startedAt)
      await publish(world, first)

      const [{ attempts }, last] = [await explain(world, first), await explain(world, deferred.at(-1) ?? '')]
      printTable('SIGKILL among deferred messages', { deferred: deferred.length, tookMs, attempts })
      assert.ok(tookMs <= RESUMED_WITHIN_MS, `Others were sent to after ${tookMs} ms`)
      assert.deepEqual([last.state, last.attempts], ['QUEUED', 0])
      assert.notEqual(last.waitsFor, first)
    } finally {
      await world.close()
    }
  })
})

async function sendMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = []
  const sendSome = async () => {
    while (ids.length < count) {
      const at = ids.push('') - 1
      ids[at] = await send(world, BUSY, `deferred ${at}`)
    }
  }
  await Promise.all(Array.from({ length: SENT_AT_ONCE }, sendSome))
  return ids
}

async function send({ client, connections: [from = ''] }: World, to: string, text: string): Promise<string> {
  const answer = await client.send({ from, to, message: { type: 'message', message: text }, idempotencyKey: null })
  assert.ok(answer.kind === 'acked', `${text}: ${answer.kind}`)
  return answer.messageId
}

function explain({ cli }: World, id: string): Promise<Explained> {
  return cli.json<Explained>('message', 'explain', id)
}

async function publish(world: World, id: string): Promise<void> {
  const isPublished = async () => (await explain(world, id)).state === 'PUBLISHED'
  await waitUntil(`${id} is published`, isPublished, { deadlineMs: 60_000, everyMs: 250 })
}
