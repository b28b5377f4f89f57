import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { printTable } from '../../support/black-box/print-table.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { openWorld, type World } from '../../support/black-box/world.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { SkippedTime } from '../../support/skipped-time/skipped-time.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { linkNumbers, networkSettings, openNetwork } from '../whatsapp-web/web-run.ts'

const REASON = whyNoLibrary()
const NUMBERS = 100
const HOURS = 24
const HOUR_MS = 3_600_000
// The thread may write for 2 s after each permission, which comes every second.
const SKIP_MS = 1_000
// How many lines break and how many messages are sent in each hour. Each number writes to one person of its own, and does so
// before the first hour ends: the library remembers people for three days.
const BREAKS = 20
const MESSAGES = 50
const FIRST_RECIPIENT = 15_559_000_000
// Each line is pinged every 20 s. After a skip and after a login the interval starts anew.
const LEAST_PINGS = 0.95 * NUMBERS * HOURS * 180
// By then each number has lost its line and written a few times, and all code on the way is compiled.
const FIRST_HOURS = 3
const MOST_GROWTH = 1.05
const BYTES_PER_MB = 1_000_000
// A run takes some minutes.
const HANGS_AFTER_MS = HOUR_MS
const LIMIT = { deadlineMs: 600_000, everyMs: 20 }

describe.skipIf(REASON)(`a day of ${NUMBERS} linked numbers${skipNote(REASON)}`, () => {
  it(
    'uses no more memory than its first three hours, measured after garbage collection',
    async () => {
      const folder = temporaryFolder()
      const simulator = await openNetwork()
      const time = new SkippedTime(folder)
      const environment = { ...networkSettings(simulator, folder), ...time.environment }
      const world = await openWorld({ connections: 0, environment })
      try {
        const day = await beginDay({ simulator, time, world })
        const megabytes: number[] = []
        for (let hour = 1; hour <= HOURS; hour += 1) megabytes.push(await passHour(day, hour))
        const [first = 0, ...later] = megabytes.slice(FIRST_HOURS - 1)
        const { logins, pings } = day.seen
        printTable(`a day of ${NUMBERS} linked numbers`, {
          ...{ logins, pings, messages: day.seen.messages },
          'MB after each hour': megabytes.map((mb) => mb.toFixed(1)).join(' '),
        })

        assert.deepEqual(simulator.takeComplaints(), [])
        assert.ok(Math.max(...later) < MOST_GROWTH * first, `${first.toFixed(1)} MB, and later ${later.join()}`)
        assert.equal(logins, BREAKS * HOURS, 'A line ended by itself')
        assert.ok(pings > LEAST_PINGS, `${pings} pings: no day has passed`)
      } finally {
        time.close()
        await world.close()
      }
    },
    HANGS_AFTER_MS,
  )
})

interface Day {
  readonly simulator: Simulator
  readonly time: SkippedTime
  readonly world: World
  readonly numbers: readonly string[]
  /** The main thread and the channel's. Threads that start later, such as the console's, have first hours of their own. */
  readonly threads: ReadonlySet<number>
  /** What the simulator has seen since all numbers logged in. */
  readonly seen: { logins: number; pings: number; messages: number }
}

async function beginDay(given: Pick<Day, 'simulator' | 'time' | 'world'>): Promise<Day> {
  const { simulator, time, world } = given
  const connections = await linkNumbers(simulator, { ...world, count: NUMBERS })
  const seen = { logins: 0, pings: 0, messages: 0 }
  const found = { ...given, numbers: [...connections.keys()], seen }
  await allLoggedIn(found)
  await time.connect()
  const threads = new Set((await time.measure()).map(({ thread }) => thread))
  const day = { ...found, threads }
  simulator.onLogin = () => {
    seen.logins += 1
  }
  simulator.messages.onSent = ({ isTaken }) => {
    if (isTaken) seen.messages += 1
  }
  await sendFrom(day, day.numbers)
  return day
}

/** Lets an hour pass. Returns how much memory is used after it. */
async function passHour(day: Day, hour: number): Promise<number> {
  const { simulator, time, threads, seen } = day
  for (let ms = 0; ms < HOUR_MS; ms += SKIP_MS) {
    await time.skip(SKIP_MS)
    // The simulator reads in its next turn what was written to it.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await time.goOn()
  const expected = seen.logins + BREAKS
  for (const number of chosen(day, hour * BREAKS, BREAKS)) simulator.breakLine(number, '503')
  await waitUntil('the numbers are logged in again', async () => seen.logins >= expected, LIMIT)
  await allLoggedIn(day)
  await sendFrom(day, chosen(day, hour * MESSAGES, MESSAGES))
  seen.pings += simulator.requests.splice(0).filter((request) => request.includes('<ping>')).length
  const measured = (await time.measure()).filter(({ thread }) => threads.has(thread))
  return measured.reduce((sum, { heapUsed, external }) => sum + heapUsed + external, 0) / BYTES_PER_MB
}

/** Returns `count` numbers, beginning at this place and continuing with the first one after the last. */
function chosen({ numbers }: Day, from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, place) => numbers[(from + place) % NUMBERS] ?? '')
}

async function sendFrom({ world, numbers, seen }: Day, senders: readonly string[]): Promise<void> {
  const expected = seen.messages + senders.length
  for (const from of senders) {
    const to = String(FIRST_RECIPIENT + numbers.indexOf(from))
    const message = { type: 'message', message: 'hello' }
    const answer = await world.client.send({ from, to, message, idempotencyKey: null })
    assert.equal(answer.kind, 'acked')
  }
  await waitUntil('the messages are sent', async () => seen.messages >= expected, LIMIT)
}

async function allLoggedIn({ simulator, numbers }: Pick<Day, 'simulator' | 'numbers'>): Promise<void> {
  const areIn = async () => {
    const found = new Set([...simulator.lines].map(({ login }) => login?.phone.number))
    return numbers.every((number) => found.has(number))
  }
  await waitUntil('all numbers are logged in', areIn, LIMIT)
}
