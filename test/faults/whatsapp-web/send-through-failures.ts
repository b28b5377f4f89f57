import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { collectLedger, drain, type Recorded } from '../../support/black-box/collect-ledger.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../../support/ledger/assert-sees-faults.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { readRounds } from '../run-length.ts'
import { assertFaultsAreFound, findFaults, readSeen } from './find-faults.ts'
import { linkNumbers, lockFirstContacts, makeLoad, readArrived, spoil } from './web-run.ts'

const NUMBERS = 6
const LOGGED_IN_WITHIN_MS = 60_000
const AFTER_THE_LAST_MS = 1_500
/** The fewest messages of each round. */
const LEAST_OF_EACH = 25
// A lane whose message was lost waits 90 s, until no receipt can come any more. Several may be lost one after another.
const DRAINED_WITHIN_MS = 300_000
// A quick run has none, because each would take these 90 s.
const LOST_BEFORE = Math.ceil(readRounds({ brief: 1, quick: 0 }) / 3)

interface Troubled {
  readonly title: string
  readonly rounds: number
  readonly seed: number
  readonly simulator: Simulator
  /** The services, and where their data are. */
  readonly world: Recorded & { readonly client: Pick<SendClient, 'send'> }
  /** Kills or stops services, and lets them continue. */
  readonly killAndStart: (round: number, random: Random) => Promise<void>
}

/** Sends from several numbers while lines break, devices cannot read and services are killed. Then checks the results. */
export async function sendThroughFailures(plan: Troubled): Promise<void> {
  const { title, rounds, seed, simulator, world, killAndStart } = plan
  const connections = await linkNumbers(simulator, { ...world, count: NUMBERS })
  const numbers = [...connections.keys()]
  const areIn = async () => numbers.every((number) => simulator.lineOf(number))
  await waitUntil('all numbers are logged in', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  const random = createRandom(seed)
  const happened = spoil(simulator, random, LOST_BEFORE)
  const locked = lockFirstContacts(simulator, numbers[0]!)
  const load = await makeLoad({ client: world.client, connections: numbers, seed })
  load.start()
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(1_000, 3_000))
    await killAndStart(round, random)
  }
  await waitUntil('all numbers are logged in again', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  await setTimeout(AFTER_THE_LAST_MS)
  // On a busy machine few messages were sent so far.
  await load.waitForAcks(Math.max(0, rounds * LEAST_OF_EACH - load.ackedIds.length))
  await load.stop()

  await drain(world.cli, DRAINED_WITHIN_MS)
  const collected = await collectLedger(world, load.requests)
  const messages = collected.messages.map(locked.withWait)
  const input = { ...collected, messages, inbox: readArrived(simulator, messages, connections) }
  const ledger = checkLedger(input)
  const seen = readSeen(simulator)
  const facts = {
    ...{ stanzas: seen.sent.length, uploads: simulator.media.uploads.length },
    ...{ ...happened, locked: locked.count() },
  }
  printTable(title, { rounds, seed, ...ledger.counts, ...ledger.states, ...facts })
  assertClean(ledger)
  assert.deepEqual(findFaults(seen), [])
  assertLedgerSeesFaults(input)
  assertFaultsAreFound(seen)
  for (const fault of ['silent', 'cut off', 'unreadable', 'locked'] as const)
    assert.ok(facts[fault] > 0, `Nothing was ${fault}: ${JSON.stringify(facts)}`)
  assert.ok(LOST_BEFORE === 0 || happened.lost > 0, JSON.stringify(happened))
}
