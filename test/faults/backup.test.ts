import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load } from '../support/black-box/load.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { createRandom } from '../support/black-box/random.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import type { DeliveredEntry, ListedMessage } from '../support/ledger/ledger-input.ts'
import { obstacleToDumping, shareDumpingServer } from '../support/postgres/dumping-server.ts'
import {
  assertHoldIsShown,
  assertNothingIsSent,
  cancelWhatWasSent,
  findSentTwice,
  splitLost,
  waitUntilHeld,
} from './gone-back/check-after-hold.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 6
const SLOW_SANDBOX = ['--set', 'latency=30ms']
// Messages accepted before and after the backup.
const RUN_IN = 300
const LOAD = { pauseMs: 20, keyedShare: 0.3, seed }
const obstacle = obstacleToDumping()

const createDatabase = shareDumpingServer()

type Environment = Readonly<Record<string, string>>

interface Taken {
  readonly path: string
  readonly tookMs: number
}

interface Side {
  readonly name: string
  readonly why: string | null
  readonly open: () => Promise<Environment>
  /** The database to restore into. */
  readonly openEmpty: () => Promise<Environment>
}

async function onPostgres(content: 'our tables' | 'nothing'): Promise<Environment> {
  return { NUNCIO_DATABASE_URL: await createDatabase(content) }
}

const SIDES: readonly Side[] = [
  { name: 'SQLite', why: null, open: async () => ({}), openEmpty: async () => ({}) },
  { name: 'PostgreSQL', why: obstacle, open: () => onPostgres('our tables'), openEmpty: () => onPostgres('nothing') },
]

function recordedIn(world: World, environment: Environment) {
  const databaseUrl = environment['NUNCIO_DATABASE_URL']
  return databaseUrl === undefined ? world : { ...world, databaseUrl }
}

/** Restores a backup to a new place, and returns the ids of all messages in it. */
async function restoreInto({ workDir, dataDir }: World, path: string, environment: Environment): Promise<Set<string>> {
  const other = join(workDir, `restored-${Math.random()}`)
  const keyRing = { NUNCIO_KEY_RING_FILE: join(dataDir, 'keys', 'key-ring.json') }
  const cli = new QuickCli({ dataDir: other, environment: { ...environment, ...keyRing } })
  await cli.json('restore', path)
  const { isSound, findings } = await cli.json<{ isSound: boolean; findings: unknown }>('verify')
  assert.ok(isSound, JSON.stringify(findings))
  const messages = await cli.json<ListedMessage[]>('message', 'list')
  return new Set(messages.map(({ id }) => id))
}

describe.each(SIDES)('backups of $name under load', ({ why, open, openEmpty }) => {
  it.skipIf(why !== null)(
    `G1: contain every message that was answered before they began, and are intact${skipNote(why)}`,
    async () => {
      const environment = await open()
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX, environment })
      try {
        const { cli, client, connections, workDir } = world
        const load = new Load({ client, connections, ...LOAD })
        load.start()
        const took: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          await load.waitForAcks(RUN_IN)
          const answered = load.ackedIds
          const { path, tookMs } = await cli.json<Taken>('backup', join(workDir, 'kept'))
          await cli.json('verify', path)
          const there = await restoreInto(world, path, await openEmpty())
          const missing = answered.filter((id) => !there.has(id))
          assert.deepEqual([answered.length > 0, missing], [true, []])
          took.push(tookMs)
        }
        await load.stop()
        const { counts } = await checkRun(recordedIn(world, environment), load.requests)
        printTable('backups under load', { rounds, seed, ...counts, 'took ms': took.join(' ') })
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )

  it.skipIf(why !== null)(
    `leave no partial backup when they are killed, and the service continues${skipNote(why)}`,
    async () => {
      const environment = await open()
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX, environment })
      try {
        const { cli, client, connections, workDir, dataDir } = world
        const random = createRandom(seed)
        const load = new Load({ client, connections, ...LOAD })
        load.start()
        const folder = join(workDir, 'kept')
        const { tookMs } = await cli.json<Taken>('backup', folder)
        let killed = 0
        for (let round = 0; round < 2 * rounds; round += 1) {
          const child = spawn(process.execPath, [nuncioMain, 'backup', folder], {
            env: nuncioEnvironment(dataDir, environment),
            stdio: 'ignore',
          })
          const before = readdirSync(folder)
          const hasEnded = () => child.exitCode !== null || child.signalCode !== null
          const isAtWork = () => readdirSync(folder).some((name) => !before.includes(name))
          await waitUntil('it begins to write', async () => hasEnded() || isAtWork(), {
            deadlineMs: 30_000,
            everyMs: 2,
          })
          // The first one is killed as it begins, so that at least one is killed.
          await setTimeout(round === 0 ? 0 : random.between(0, tookMs))
          if (child.exitCode === null && child.kill('SIGKILL')) killed += 1
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
        }
        const whole = readdirSync(folder).filter((name) => name.startsWith('nuncio-'))
        for (const name of whole) await cli.json('verify', join(folder, name))
        await setTimeout(1_000)
        await cli.json('backup', folder)
        const left = readdirSync(folder).filter((name) => !name.startsWith('nuncio-'))
        await load.stop()
        await checkRun(recordedIn(world, environment), load.requests)

        printTable('killed backups', { seed, killed, 'whole ones': whole.length })
        assert.ok(killed > 0)
        assert.deepEqual(left, [])
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )

  it.skipIf(why !== null)(
    `G12: restored without the checkpoint of the machine, hold all lanes until a person releases them${skipNote(why)}`,
    async () => {
      const environment = await open()
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX, environment })
      try {
        const { service, cli, client, connections, workDir, dataDir } = world
        const load = new Load({ client, connections, ...LOAD })
        load.start()
        await load.waitForAcks(RUN_IN)
        const { path } = await cli.json<Taken>('backup', join(workDir, 'kept'))
        await load.waitForAcks(RUN_IN)
        await load.stop()
        const truth = await cli.json<DeliveredEntry[]>('sandbox', 'inbox')
        await service.stop()
        rmSync(join(dataDir, 'remembered.json'))
        const { endedSince } = await cli.json<{ endedSince: string[] }>('restore', path, '--replace')
        await service.start()

        await waitUntilHeld(cli)
        load.start()
        await assertNothingIsSent(cli)
        await load.stop()
        await assertHoldIsShown(cli, /^All lanes are held: it was restored from the backup of 20/)
        const waiting = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
        const cancelled = await cancelWhatWasSent(recordedIn(world, environment), truth)
        await cli.json('hold', '--release')
        const { requests, lost } = await splitLost(cli, load.requests)
        const { input, states } = await checkRun(recordedIn(world, environment), requests)

        // Restore must have reported all messages that a person who knows the truth would cancel.
        const sent = new Set(truth.map(({ messageId }) => messageId))
        const untold = waiting.filter(({ id }) => sent.has(id) && !endedSince.includes(id))
        printTable('a backup that was restored', { seed, ...states, lost, cancelled, reported: endedSince.length })
        assert.deepEqual([untold, findSentTwice(truth, input.inbox)], [[], []])
        assert.ok(
          lost > 0 && cancelled + (states['UNCONFIRMED'] ?? 0) > 0,
          'Nothing was forgotten, so nothing was shown',
        )
      } finally {
        await world.close()
      }
    },
  )
})
