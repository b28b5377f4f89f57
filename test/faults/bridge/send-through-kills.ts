import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { collectLedger, drain, type Recorded } from '../../support/black-box/collect-ledger.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import { AdapterProcess } from '../../support/bridge/run-adapter.ts'
import { newSecret } from '../../support/bridge/scripted-adapter.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../../support/ledger/assert-sees-faults.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import type { DeliveredEntry } from '../../support/ledger/ledger-input.ts'

const NUMBERS = 3
const FIRST_NUMBER = 15_550_009_100
const DRAINED_WITHIN_MS = 120_000
// Messages accepted before each kill.
const AT_STAKE = 30

/** The adapter of one number, and the file that stands for its phones. */
interface Sender {
  readonly number: string
  readonly adapter: AdapterProcess
  readonly secretFile: string
  readonly phones: string
}

/** Starts the adapters, each with its own log and secret. */
export async function startAdapters(): Promise<readonly Sender[]> {
  const folder = temporaryFolder()
  return Promise.all(
    Array.from({ length: NUMBERS }, async (_, place) => {
      const number = String(FIRST_NUMBER + place)
      const [secretFile, phones] = [join(folder, `${number}.secret`), join(folder, `${number}.phones`)]
      writeFileSync(secretFile, `${newSecret()}\n`)
      writeFileSync(phones, '')
      const adapter = await AdapterProcess.create({
        program: ['test/faults/bridge/phones-adapter.mjs'],
        secretFile,
        log: join(folder, `${number}.log`),
        arguments: ['--phones', phones],
      })
      await adapter.start()
      onTestFinished(() => adapter.kill())
      return { number, adapter, secretFile, phones }
    }),
  )
}

/** The settings of the service for these adapters. */
export function adapterSettings(senders: readonly Sender[]): Readonly<Record<string, string>> {
  return { NUNCIO_BRIDGE_ORIGINS: senders.map(({ adapter }) => adapter.origin).join(',') }
}

interface Killed {
  readonly title: string
  readonly rounds: number
  readonly seed: number
  readonly senders: readonly Sender[]
  readonly world: Recorded & { readonly client: Pick<SendClient, 'send'> }
  /** Kills services and starts them again. */
  readonly killAndStart: (round: number, random: Random) => Promise<void>
}

/** Sends from several numbers while services and adapters are killed. Then compares the log with what the phones have. */
export async function sendThroughKills(plan: Killed): Promise<void> {
  const { title, rounds, seed, senders, world, killAndStart } = plan
  for (const { number, adapter, secretFile } of senders) {
    const set = [`url=${adapter.origin}`, `secret=@${secretFile}`, 'send_timeout=5s', 'evidence_wait=3s']
    await world.cli.json('connection', 'add', number, '--channel', 'bridge', ...set.flatMap((pair) => ['--set', pair]))
  }
  const connections = senders.map(({ number }) => number)
  const load = new Load({ client: world.client, connections, pauseMs: 40, keyedShare: 1, seed, textLength: 1_000 })
  load.start()
  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(300, 1_000))
    await load.waitForAcks(AT_STAKE)
    await Promise.all([killAndStart(round, random), killAdapters(senders, random)])
  }
  await setTimeout(1_000)
  await load.stop()

  await drain(world.cli, DRAINED_WITHIN_MS)
  const arrived = senders.flatMap(({ phones }) => readArrived(phones))
  const input = { ...(await collectLedger(world, load.requests)), inbox: arrived }
  const ledger = checkLedger(input)
  printTable(title, { rounds, seed, ...ledger.counts, ...ledger.states })
  assertClean(ledger)
  assertLedgerSeesFaults(input)
  // Each kill may leave each number with one unknown result. Now and then the connection to the phones breaks as well.
  const unknown = ledger.states['UNCONFIRMED'] ?? 0
  assert.ok(unknown <= 2 * NUMBERS * rounds + arrived.length * 0.1, `${unknown} messages are UNCONFIRMED`)
}

/** Kills one adapter after another, so that the others have open attempts. */
async function killAdapters(senders: readonly Sender[], random: Random): Promise<void> {
  for (const { adapter } of senders) {
    await setTimeout(random.between(100, 500))
    await adapter.kill()
    await adapter.start()
  }
}

interface Arrived {
  readonly messageId: string
  readonly from: string
  readonly to: string
  readonly text: string
  readonly at: number
}

function readArrived(phones: string): readonly DeliveredEntry[] {
  const lines = readFileSync(phones, 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => {
    const { messageId, from, to, text, at } = JSON.parse(line) as Arrived
    const none = { caption: null, name: null, sizeBytes: null, sha256: null }
    return { messageId, connection: from, to, type: 'message', text, ...none, deliveredAt: at }
  })
}
