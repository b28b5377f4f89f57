import assert from 'node:assert/strict'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { findDatabase } from '../support/black-box/collect-ledger.ts'
import { Load } from '../support/black-box/load.ts'
import { openPages } from '../support/black-box/open-pages.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import type { DeliveredEntry, ListedMessage } from '../support/ledger/ledger-input.ts'
import {
  assertHoldIsShown,
  assertNothingIsSent,
  cancelWhatWasSent,
  findSentTwice,
  isHeld,
  splitLost,
  waitUntilHeld,
} from './gone-back/check-after-hold.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const restarts = readRounds({ brief: 5, quick: 2 })
const seed = readSeed()
const CONNECTIONS = 6
const SLOW_SANDBOX = ['--set', 'latency=30ms']
// Messages accepted before and after the copy.
const RUN_IN = 300
const KILL_WITHIN_MS = 1_500

describe('a SQLite database that was put back from a backup', () => {
  it('G12: holds all lanes and sends nothing again until a person releases them', async () => {
    const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX })
    try {
      const { service, cli, client, connections } = world
      const load = new Load({ client, connections, pauseMs: 60, keyedShare: 0.3, seed })
      load.start()
      await load.waitForAcks(RUN_IN)
      const backup = backUp(world)
      await load.waitForAcks(RUN_IN)
      await load.stop()
      const truth = await cli.json<DeliveredEntry[]>('sandbox', 'inbox')
      await service.stop()
      restore(world, backup)
      await service.start()

      const heldAfterMs = await waitUntilHeld(cli)
      load.start()
      await assertNothingIsSent(cli)
      await load.stop()
      await assertHoldIsShown(cli, /^All lanes are held: it is an older state of the database/)
      const readLines = await openPages(world, service.url)
      const [waiting] = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
      assert.deepEqual(await readLines(waiting?.id ?? ''), [
        'Not sent yet.',
        'The database may be older than it was. What was sent since is not known here.',
        'Cancel what was sent meanwhile. Then ask the person who runs Nuncio to release all numbers.',
      ])
      const cancelled = await cancelWhatWasSent(world, truth)
      await cli.json('hold', '--release')

      const { requests, lost } = await splitLost(cli, load.requests)
      const { counts, states, input } = await checkRun(world, requests)
      const repeated = findSentTwice(truth, input.inbox)
      printTable('SQLite put back from a backup', {
        seed,
        ...counts,
        ...states,
        'held after ms': heldAfterMs,
        'answered with 200, and not in the backup': lost,
        'sent, and waiting in the backup': cancelled,
        'sent twice': repeated.length,
      })
      assert.deepEqual(repeated, [])
      const spared = cancelled + (states['UNCONFIRMED'] ?? 0)
      assert.ok(lost > 0 && spared > 0, 'Nothing was forgotten, so nothing was shown')
    } finally {
      await world.close()
    }
  })
})

describe('a SQLite database that has not gone back', () => {
  it(
    'G12: holds no lane, however often the service is killed and started again',
    async () => {
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX })
      try {
        const { service, cli, client, connections } = world
        const load = new Load({ client, connections, pauseMs: 30, keyedShare: 0.3, seed })
        const random = createRandom(seed)
        load.start()
        let held = 0
        for (let restart = 0; restart < restarts; restart += 1) {
          await setTimeout(random.between(1, KILL_WITHIN_MS))
          await service.killNine()
          await service.start()
          if (await isHeld(cli)) held += 1
        }
        await load.stop()

        const { counts, states } = await checkRun(world, load.requests)

        printTable('SQLite, killed', { restarts, seed, ...counts, ...states, held })
        assert.equal(held, 0)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(restarts),
  )
})

/** Copies the database of the running service, as docs/operating/back-up.md says. */
function backUp({ dataDir, workDir }: World): string {
  const backup = join(workDir, 'backup.db')
  const database = new DatabaseSync(findDatabase(dataDir))
  database.exec(`vacuum into '${backup}'`)
  database.close()
  return backup
}

function restore({ dataDir }: World, backup: string): void {
  const file = findDatabase(dataDir)
  for (const rest of ['-wal', '-shm']) rmSync(`${file}${rest}`, { force: true })
  copyFileSync(backup, file)
}
