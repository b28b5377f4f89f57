import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { openPages } from '../support/black-box/open-pages.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { Supervisor } from '../support/black-box/supervisor.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import type { SentRequest } from '../support/ledger/ledger-input.ts'

// For this recipient the sandbox kills the worker during the attempt if it may; otherwise it drops the lane's claim.
const POISON = '15550100008'
// This recipient is deferred while the worker dies, and so are later messages to it.
const BUSY = '15550100002'
const ENDED_WITHIN_MS = 100_000

describe('a message that kills its worker', () => {
  it('G5 G10: is FAILED after three crashes that are each proven to have sent nothing, and its lane continues (situation 8)', async () => {
    const world = await openWorld({ connections: 1, environment: { NUNCIO_SANDBOX_MAY_CRASH: 'true' } })
    const supervisor = new Supervisor(world.service)
    try {
      supervisor.start()

      const { tookMs } = await sendPoisonBetweenTwo(world)

      printTable('Poison', { crashes: supervisor.endings.length, tookMs })
      assert.equal(supervisor.endings.length, 3, JSON.stringify(supervisor.endings))
      await supervisor.stop()
    } finally {
      await supervisor.stop()
      await world.close()
    }
  })

  it('G5 G10: ends the same way without a crash if the sandbox may not kill', async () => {
    const world = await openWorld({ connections: 1 })
    try {
      const { pid } = world.service

      const { tookMs } = await sendPoisonBetweenTwo(world)

      printTable('Poison, claim dropped', { tookMs })
      assert.ok(world.service.isRunning)
      assert.equal(world.service.pid, pid)
    } finally {
      await world.close()
    }
  })
})

interface Story {
  readonly timeline: readonly { readonly kind: string }[]
}

async function sendPoisonBetweenTwo(world: World): Promise<{ tookMs: number }> {
  const before = await send(world, '447900000001')
  const deferred = await send(world, BUSY)
  const poison = await send(world, POISON)
  const behind = await send(world, BUSY, 'behind the deferred one')
  const after = await send(world, '447900000002')
  const startedAt = performance.now()
  const limits = { deadlineMs: ENDED_WITHIN_MS, everyMs: 500 }
  await waitUntil(
    'the message behind it is sent',
    async () => (await find(world, after))?.state === 'PUBLISHED',
    limits,
  )
  await waitUntil('it has ended', async () => (await find(world, poison))?.state === 'FAILED', limits)
  const tookMs = Math.round(performance.now() - startedAt)
  const found = await find(world, poison)
  assert.equal(found?.state, 'FAILED')
  assert.equal(found.reason, 'quarantined')
  const { timeline } = await world.cli.json<Story>('message', 'explain', found.id)
  const readLines = await openPages(world, world.service.url)
  assert.deepEqual(await readLines(found.id), [
    'Not sent.',
    'Nuncio stopped three times while sending it; the sandbox showed that it never left.',
    'Report it with its id. “Retry” tries it again, which may stop Nuncio again.',
  ])
  const outcomes = timeline.map(({ kind }) => kind).filter((kind) => /^attempt-(?!begun)/.test(kind))
  assert.deepEqual(outcomes, ['attempt-rejected', 'attempt-rejected', 'attempt-rejected'])
  await checkRun(world, [before, deferred, poison, behind, after])
  return { tookMs }
}

async function send({ client, connections: [from = ''] }: World, to: string, text = `to ${to}`): Promise<SentRequest> {
  const sentAt = performance.now()
  // With a key, because the worker may die before it replies.
  const letter = { from, to, message: { type: 'message', message: text }, idempotencyKey: text }
  const answer = await waitUntil(
    'an answer comes',
    async () => {
      const answered = await client.send(letter)
      return answered.kind === 'acked' && answered
    },
    { deadlineMs: 20_000 },
  )
  return { connection: from, to, content: { text }, sentAt, answer: { ...answer, at: performance.now() } }
}

async function find({ cli }: World, { answer }: SentRequest) {
  const messages = await cli.json<{ id: string; state: string; reason: string | null }[]>('message', 'list')
  return messages.find(({ id }) => answer.kind === 'acked' && id === answer.messageId)
}
