import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { openTestFolder, type TestFolder } from '../support/black-box/test-folder.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { postTo } from '../support/journey/start-nuncio.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres/test-database.ts'

// Enough that each process gets some of them by chance.
const NUMBERS = Array.from({ length: 16 }, (_, index) => String(15_550_003_000 + index))
const RECIPIENTS = Array.from({ length: 6 }, (_, index) => String(15_551_230_000 + index))
const DEADLINE = { deadlineMs: 30_000, everyMs: 50 }

let folder: TestFolder
let database: TestDatabase
let service: NuncioProcess
let cli: QuickCli

beforeAll(async () => {
  folder = openTestFolder()
  database = await openTestDatabase()
  const dataDir = join(folder.path, 'data')
  service = new NuncioProcess({
    dataDir,
    workDir: folder.path,
    port: await findFreePort(),
    environment: { NUNCIO_DATABASE_URL: database.url },
    serveArguments: ['--processes', '2'],
    onStart: (pid) => folder.remember(pid),
  })
  cli = new QuickCli({ dataDir, databaseUrl: database.url })
  await service.start()
})

afterAll(async () => {
  await service.stop()
  await database.drop()
  folder.remove()
})

interface Worker {
  readonly state: 'alive' | 'gone'
  readonly pid: number
  readonly lanes: number
}

async function livingWorkers(): Promise<Worker[]> {
  return (await cli.json<Worker[]>('workers')).filter(({ state }) => state === 'alive')
}

/** The workers, once each of them holds lanes. */
async function seeShares(): Promise<Worker[] | false> {
  const living = await livingWorkers()
  return living.length === 2 && living.every(({ lanes }) => lanes > 0) && living
}

async function countWaiting(): Promise<number> {
  const connections = await cli.json<{ waiting: number }[]>('connection', 'list')
  return connections.reduce((sum, { waiting }) => sum + waiting, 0)
}

async function createToken(name: string): Promise<string> {
  const created = ['token', 'create', '--name', name, '--expires', '7d', '--event', 'messaging.send_message']
  return (await cli.json<{ token: string }>(...created)).token
}

function sendText(token: string, { from = NUMBERS[0], to = RECIPIENTS[0] } = {}, headers = {}) {
  return postTo(service.url, token, { body: { from, to, message: { type: 'message', message: 'Hello' } }, headers })
}

/** Each number sends to its recipients one after another; the numbers send in parallel. */
async function sendToAll(token: string): Promise<number[]> {
  const statuses = NUMBERS.map(async (from) => {
    const own: number[] = []
    for (const to of RECIPIENTS) own.push((await sendText(token, { from, to })).status)
    return own
  })
  return (await Promise.all(statuses)).flat()
}

interface Call {
  readonly sentAt: number
  readonly status: number
  /** Request ids of one process begin alike. */
  readonly process: string
}

/** Sends again and again on new connections, like a program that does not know of the change yet. */
async function callUntil(isOver: () => boolean, token: string, calls: Call[]): Promise<void> {
  while (!isOver()) {
    const sentAt = performance.now()
    const { status, headers } = await sendText(token, {}, { connection: 'close' })
    calls.push({ sentAt, status, process: headers.get('x-request-id')?.split('-')[0] ?? '' })
  }
}

function countProcesses(calls: readonly Call[], wanted: number): number {
  return new Set(calls.flatMap(({ status, process }) => (status === wanted ? [process] : []))).size
}

/** How many messages a recipient has received. */
async function countHeard(recipient: string): Promise<number> {
  const inbox = await cli.json<{ to: string }[]>('sandbox', 'inbox', '--limit', '1000')
  return inbox.filter(({ to }) => to === recipient).length
}

const COMMAND = /^curl (?:.*\\\n)+.*'$/m

// These tests build on each other, like the steps of a person.
describe('nuncio serve --processes 2 on PostgreSQL', () => {
  it('prints its banner once on the first day, with a command that works', async () => {
    const greeting = await waitUntil(
      'it prints its banner',
      // Waits for the whole banner: its last line may come a moment later.
      async () => COMMAND.test(service.log) && service.log,
      DEADLINE,
    )
    const [curl = ''] = COMMAND.exec(greeting) ?? []

    const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} --silent --max-time 20`])

    assert.equal(JSON.parse(stdout).data.state, 'QUEUED', stdout)
    assert.equal(greeting.match(/^curl /gm)?.length, 1)
    assert.match(greeting, /\n {2}storage {3}PostgreSQL[^\n]*\n {2}processes 2\n/)
    assert.ok(!greeting.includes(new URL(database.url).password))
  })

  it('G3: delivers what several numbers send once and in order, both processes sharing the lanes', async () => {
    const token = await createToken('orders')
    for (const number of NUMBERS)
      await cli.json('connection', 'add', number, '--channel', 'sandbox', '--set', 'latency=100ms')

    const sharing = waitUntil('each holds lanes', seeShares, DEADLINE)
    const statuses = await sendToAll(token)
    const workers = await sharing
    const recipientsOf = async (number: string) =>
      (await cli.json<{ to: string }[]>('sandbox', 'inbox', '--connection', number)).map(({ to }) => to)
    await waitUntil('all are delivered', async () => (await countWaiting()) === 0, DEADLINE)

    assert.deepEqual(new Set(statuses), new Set([200]))
    for (const number of NUMBERS) assert.deepEqual(await recipientsOf(number), RECIPIENTS)
    assert.equal(new Set(workers.map(({ pid }) => pid)).size, 2)
    assert.ok(!workers.some(({ pid }) => pid === service.pid), 'the parent dispatches too')
  })

  it('G7: refuses a deleted token in both processes as soon as the command has returned', async () => {
    const token = await createToken('leaked')
    let isOver = false
    const calls: Call[] = []
    const calling = Promise.all(Array.from({ length: 6 }, () => callUntil(() => isOver, token, calls)))
    // Both processes have used the token, and have it in their caches.
    await waitUntil('both accept it', async () => countProcesses(calls, 200) === 2, DEADLINE)

    await cli.json('token', 'delete', 'leaked')
    const deletedAt = performance.now()
    const callsAfter = () => calls.filter(({ sentAt }) => sentAt > deletedAt)
    await waitUntil(
      'both answer',
      async () => callsAfter().length > 20 && countProcesses(callsAfter(), 401) === 2,
      DEADLINE,
    )
    isOver = true
    await calling

    assert.deepEqual(new Set(callsAfter().map(({ status }) => status)), new Set([401]))
  })

  it('G13: sends nothing to a blocked recipient, whichever process holds the lane', async () => {
    const token = await createToken('late')
    const [asked = ''] = RECIPIENTS
    await waitUntil('what was sent before has ended', async () => (await countWaiting()) === 0, DEADLINE)
    const heardBefore = await countHeard(asked)

    await cli.json('recipient', 'block', asked)
    for (const from of NUMBERS) await sendText(token, { from, to: asked })
    await waitUntil('all have ended', async () => (await countWaiting()) === 0, DEADLINE)

    const failed = await cli.json<{ to: string; reason: string }[]>('message', 'list', '--state', 'FAILED')
    assert.deepEqual(
      new Set(failed.map(({ to, reason }) => `${to} ${reason}`)),
      new Set([`${asked} recipient_blocked`]),
    )
    assert.equal(failed.length, NUMBERS.length)
    assert.equal(await countHeard(asked), heardBefore)
  })

  it('reports that no lane is held', async () => {
    assert.deepEqual(await cli.run('hold'), { code: 0, stdout: 'The lanes are not held.\n', stderr: '' })
  })

  it('stops in order at a signal, and is no longer listed as alive', async () => {
    service.signal('SIGTERM')

    assert.deepEqual(await service.ended(40_000), { code: 0, signal: null })
    assert.deepEqual(await livingWorkers(), [])
  })
})
