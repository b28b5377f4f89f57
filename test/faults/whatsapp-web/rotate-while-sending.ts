import assert from 'node:assert/strict'
import { vi } from 'vitest'
import { collectLedger, drain, type Recorded } from '../../support/black-box/collect-ledger.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { findFaults, readSeen } from './find-faults.ts'
import { linkNumbers, makeLoad, readArrived } from './web-run.ts'

const NUMBERS = 20
const ROTATIONS = 3
// Messages accepted before the next step.
const RUN_IN = 40
const LOGGED_IN_WITHIN_MS = 60_000
const DRAINED_WITHIN_MS = 60_000
// After this time an old key may be removed.
const SIX_MINUTES_MS = 360_000

interface Ring {
  readonly keys: readonly { readonly id: string; readonly state: string; readonly secrets: number }[]
}

interface RotationRun {
  readonly title: string
  readonly seed: number
  readonly simulator: Simulator
  /** The services, and where their data are. */
  readonly world: Recorded & { readonly client: Pick<SendClient, 'send'> }
  /** Stops all services and starts them again. */
  readonly restart: () => Promise<unknown>
}

/**
 * Rotates the keys while linked numbers send, removes the old keys, and restarts so that the services open the sessions again.
 * Then checks the results.
 */
export async function rotateWhileSending({ title, seed, simulator, world, restart }: RotationRun): Promise<void> {
  const { cli } = world
  const connections = await linkNumbers(simulator, { ...world, count: NUMBERS })
  const numbers = [...connections.keys()]
  const areIn = async () => numbers.every((number) => simulator.lineOf(number))
  await waitUntil('all numbers are logged in', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  const load = await makeLoad({ client: world.client, connections: numbers, seed })
  load.start()
  await load.waitForAcks(RUN_IN)
  for (let times = 0; times < ROTATIONS; times += 1) {
    const { unreadable } = await cli.json<{ unreadable: unknown[] }>('secrets', 'rotate')
    assert.deepEqual(unreadable, [])
  }
  await load.waitForAcks(RUN_IN)

  const { keys } = await cli.json<Ring>('secrets', 'list')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + SIX_MINUTES_MS })
  try {
    for (const { id, state } of keys) if (state === 'old') await cli.json('secrets', 'remove-key', id)
  } finally {
    vi.useRealTimers()
  }
  await restart()
  await load.waitForAcks(RUN_IN)
  await waitUntil('all numbers are logged in again', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  await load.stop()

  await drain(cli, DRAINED_WITHIN_MS)
  const collected = await collectLedger(world, load.requests)
  const input = { ...collected, inbox: readArrived(simulator, collected.messages, connections) }
  const ledger = checkLedger(input)
  const facts = { 'keys left': keys.length - ROTATIONS, 'sealed with the last': keys.at(-1)?.secrets ?? 0 }
  printTable(title, { seed, ...ledger.counts, ...ledger.states, ...facts })
  assertClean(ledger)
  assert.equal(ledger.states['UNCONFIRMED'] ?? 0, 0)
  assert.deepEqual(findFaults(readSeen(simulator)), [])
  // One for each number, and the one with which a start checks the key ring.
  assert.deepEqual(
    keys.map(({ state, secrets }) => [state, secrets]),
    [...keys.slice(1).map(() => ['old', 0]), ['current', NUMBERS + 1]],
  )
}
