import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { openCluster } from '../support/black-box/cluster.ts'
import type { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { printTable } from '../support/black-box/print-table.ts'
import type { QuickCli } from '../support/black-box/quick-cli.ts'
import type { SendClient } from '../support/black-box/send-client.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld } from '../support/black-box/world.ts'
import { MovableClock, whyNoFaketime } from '../support/postgres/faketime.ts'

const obstacle = whyNoFaketime()
const STEP_MS = 20 * 60_000
const SLOW = { connections: 1, connectionArguments: ['--set', 'latency=2s'] }

interface Listed {
  readonly id: string
  readonly state: string
  readonly attempts: number
}

interface Running {
  readonly service: NuncioProcess
  readonly cli: Pick<QuickCli, 'json'>
  readonly client: Pick<SendClient, 'send'>
  readonly connections: readonly string[]
  close(): Promise<void>
}

describe.skipIf(obstacle !== null)(`a message whose call a clock step interrupts${skipNote(obstacle)}`, () => {
  it.each([
    ['SQLite', (environment: MovableClock['environment']) => openWorld({ ...SLOW, environment })],
    ['PostgreSQL', openOnPostgres],
  ])('G10: is tried again, on %s, and does not fail for the time that seems to have passed', async (engine, open) => {
    const clock = MovableClock.open()
    const world: Running = await open(clock.environment)
    try {
      const { client, connections, service } = world
      for (let at = 1; at <= 3; at += 1) {
        const message = { type: 'message', message: `text ${at}` }
        const answer = await client.send({
          from: connections[0]!,
          to: `44790000000${at}`,
          message,
          idempotencyKey: null,
        })
        assert.equal(answer.kind, 'acked')
      }
      await isSending(world)
      clock.moveTo(STEP_MS)
      await isSending(world, 2)
      // Simulates a machine that sleeps: nothing runs, and afterwards the clock is ahead.
      service.signal('SIGSTOP')
      clock.moveTo(2 * STEP_MS)
      await setTimeout(500)
      service.signal('SIGCONT')

      const messages = await waitUntil(
        'all have ended',
        async () => {
          const listed = await world.cli.json<Listed[]>('message', 'list')
          return listed.every(({ state }) => state !== 'QUEUED' && state !== 'SENDING') && listed
        },
        { deadlineMs: 60_000, everyMs: 500 },
      )

      const states = messages.map(({ state }) => state)
      printTable(`clock steps, ${engine}`, {
        states: states.join(' '),
        attempts: messages.map((one) => one.attempts).join(' '),
      })
      assert.deepEqual(
        states.filter((state) => state === 'FAILED' || state === 'EXPIRED'),
        [],
      )
      assert.equal(states.length, 3)
    } finally {
      await world.close()
      await clock.close()
    }
  })
})

async function openOnPostgres(environment: MovableClock['environment']): Promise<Running> {
  const cluster = await openCluster({ ...SLOW, workers: 1, environmentOf: () => environment })
  return { ...cluster, service: cluster.services[0]!, close: () => cluster.close() }
}

/** Waits until this attempt is open, counted over all messages. */
async function isSending({ cli }: Running, attempts = 1): Promise<void> {
  const isSo = async () => {
    const listed = await cli.json<Listed[]>('message', 'list')
    const begun = listed.reduce((sum, message) => sum + message.attempts, 0)
    return begun >= attempts && listed.some(({ state }) => state === 'SENDING')
  }
  await waitUntil('a message is being sent', isSo, { deadlineMs: 30_000 })
}
