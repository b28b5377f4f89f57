import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, it, onTestFinished } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { SendClient } from '../support/black-box/send-client.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import type { ListedMessage } from '../support/ledger/ledger-input.ts'
import { obstacleToDumping, shareDumpingServer } from '../support/postgres/dumping-server.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import type { Simulator } from '../support/whatsapp-web/simulator.ts'
import { waitUntilHeld } from './gone-back/check-after-hold.ts'
import { findFaults, readSeen } from './whatsapp-web/find-faults.ts'
import { installChannel, linkNumbers, networkSettings, openNetwork } from './whatsapp-web/web-run.ts'

const REASON = whyNoLibrary()
const RECIPIENT = '447900000001'
const SETTLED = { deadlineMs: 60_000, everyMs: 100 }
// Longer than the interval between two polls, and than the first back-off of a line.
const NOTHING_HAPPENS_FOR_MS = 5_000
// Sessions are renewed on purpose, with devices that it knew.
const MADE_ANEW = /^keys of \S+ were fetched again$/

const createDatabase = shareDumpingServer()

interface Side {
  readonly name: string
  readonly why: string | null
  /** Opens a database and returns its URL; undefined: the database is in the data folder. */
  readonly open: (content: 'our tables' | 'nothing') => Promise<string | undefined>
}

const SIDES: readonly Side[] = [
  { name: 'SQLite', why: REASON, open: async () => undefined },
  { name: 'PostgreSQL', why: REASON ?? obstacleToDumping(), open: createDatabase },
]

function settingsFor(databaseUrl: string | undefined): Readonly<Record<string, string>> {
  return databaseUrl === undefined ? {} : { NUNCIO_DATABASE_URL: databaseUrl }
}

type Place = Pick<World, 'cli' | 'client'>

/** Sends a text. Returns the id of its message. */
async function send({ client }: Place, from: string, text: string): Promise<string> {
  const message = { type: 'message', message: text }
  const answer = await client.send({ from, to: RECIPIENT, message, idempotencyKey: null })
  assert.equal(answer.kind, 'acked')
  return answer.messageId
}

async function find({ cli }: Place, id: string): Promise<ListedMessage | undefined> {
  return (await cli.json<ListedMessage[]>('message', 'list')).find((message) => message.id === id)
}

function isRead(place: Place, id: string): Promise<true> {
  return waitUntil(`${id} is read`, async () => (await find(place, id))?.state === 'READ', SETTLED)
}

/** Starts a service elsewhere with the data of a backup of the first one, including its token. */
async function openRestored(first: World, environment: Readonly<Record<string, string>>): Promise<Place> {
  const { path } = await first.cli.json<{ path: string }>('backup', join(first.workDir, 'kept'))
  const place = { workDir: temporaryFolder(), dataDir: temporaryFolder(), port: await findFreePort() }
  const withRing = { ...environment, NUNCIO_KEY_RING_FILE: join(first.dataDir, 'keys', 'key-ring.json') }
  installChannel(place)
  const cli = new QuickCli({ ...place, environment: withRing })
  await cli.json('restore', path)
  const service = new NuncioProcess({ ...place, environment: withRing })
  onTestFinished(() => service.stop())
  await service.start()
  return { cli, client: new SendClient({ url: service.url, token: first.token }) }
}

/** Counts the logins of devices from now on. */
function countLogins(simulator: Simulator): { times: number } {
  const counted = { times: 0 }
  simulator.onLogin = () => {
    counted.times += 1
  }
  return counted
}

describe.each(SIDES)('a backup of $name with a linked number that is restored elsewhere', ({ why, open }) => {
  it.skipIf(why !== null)(
    `G12: logs in only after a person releases its lanes, and then the first one stays logged out${skipNote(why)}`,
    async () => {
      const simulator = await openNetwork()
      const network = networkSettings(simulator, temporaryFolder())
      const databaseUrl = await open('our tables')
      const first = await openWorld({ connections: 0, environment: { ...network, ...settingsFor(databaseUrl) } })
      try {
        const linking = { ...first, ...(databaseUrl !== undefined && { databaseUrl }), count: 1 }
        const [number = ''] = (await linkNumbers(simulator, linking)).keys()
        await isRead(first, await send(first, number, 'before the backup'))
        const restored = await openRestored(first, { ...network, ...settingsFor(await open('nothing')) })
        // The conversation continues, so the ratchets in the backup are used up.
        await isRead(first, await send(first, number, 'since the backup'))
        const line = simulator.lineOf(number)
        const logins = countLogins(simulator)

        await waitUntilHeld(restored.cli)
        const waiting = await send(restored, number, 'while it is held')
        await setTimeout(NOTHING_HAPPENS_FOR_MS)
        assert.deepEqual([logins.times, simulator.lineOf(number) === line], [0, true])
        assert.equal((await find(restored, waiting))?.state, 'QUEUED')
        await isRead(first, await send(first, number, 'the first one goes on'))

        await restored.cli.json('hold', '--release')
        await isRead(restored, waiting)
        const behind = await send(first, number, 'waits for a person')
        const isOut = async () => (await find(first, behind))?.reason === 'session_taken'
        await waitUntil('the first one is out', isOut, SETTLED)
        await setTimeout(NOTHING_HAPPENS_FOR_MS)
        assert.equal(logins.times, 1)
        await isRead(restored, await send(restored, number, 'the restored one goes on'))

        const { texts } = simulator.phone(RECIPIENT)
        assert.deepEqual(texts, [
          'before the backup',
          'since the backup',
          'the first one goes on',
          'while it is held',
          'the restored one goes on',
        ])
        assert.deepEqual(
          findFaults(readSeen(simulator)).filter((fault) => !MADE_ANEW.test(fault)),
          [],
        )
      } finally {
        await first.close()
      }
    },
  )
})
