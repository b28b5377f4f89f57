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
import { linkNumbers, makeLoad, readArrived, readRepeated, spoil } from './web-run.ts'

const NUMBERS = 6
const LOGGED_IN_WITHIN_MS = 60_000
const AFTER_THE_LAST_MS = 1_500
// A lane whose message got lost stands still until no receipt can come any more, 90 s, and several may in turn.
const DRAINED_WITHIN_MS = 300_000

interface Troubled {
  readonly title: string
  readonly rounds: number
  readonly seed: number
  readonly simulator: Simulator
  /** The services, and where their data lie. */
  readonly world: Recorded & { readonly client: Pick<SendClient, 'send'> }
  /** Ends services without warning, and starts them again. */
  readonly killAndStart: (round: number, random: Random) => Promise<void>
}

/** Sends from several numbers while lines break, devices cannot read and services are killed, and then checks the whole. */
export async function sendThroughFailures(plan: Troubled): Promise<void> {
  const { title, rounds, seed, simulator, world, killAndStart } = plan
  const connections = await linkNumbers(simulator, { ...world, count: NUMBERS })
  const areIn = async () => [...connections.keys()].every((number) => simulator.lineOf(number))
  await waitUntil('all numbers are logged in', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  const random = createRandom(seed)
  const happened = spoil(simulator, random, Math.floor(rounds / 3))
  const load = await makeLoad({ client: world.client, connections: [...connections.keys()], seed })
  load.start()
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(1_000, 3_000))
    await killAndStart(round, random)
  }
  await waitUntil('all numbers are logged in again', areIn, { deadlineMs: LOGGED_IN_WITHIN_MS })
  await setTimeout(AFTER_THE_LAST_MS)
  await load.stop()

  await drain(world.cli, DRAINED_WITHIN_MS)
  const collected = await collectLedger(world, load.requests)
  const input = { ...collected, inbox: readArrived(simulator, collected.messages, connections) }
  const ledger = checkLedger(input)
  const phones = [...simulator.phones.values()]
  const unreadable = phones.flatMap((phone) => phone.unreadable)
  const facts = { stanzas: simulator.messages.sent.length, uploads: simulator.media.uploads.length, ...happened }
  printTable(title, { rounds, seed, ...ledger.counts, ...ledger.states, ...facts })
  assertClean(ledger)
  assert.deepEqual([unreadable, readRepeated(simulator)], [[], []])
  assert.deepEqual(simulator.takeComplaints(), [])
  assertLedgerSeesFaults(input)
  assert.ok(happened['cut off'] > 0 && happened.unreadable > 0, JSON.stringify(happened))
  assert.ok(load.ackedIds.length > rounds * 20, `Only ${load.ackedIds.length} messages were at stake`)
}
