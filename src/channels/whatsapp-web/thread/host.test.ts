import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, onTestFinished, vi } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { temporaryFolder } from '../../../../test/support/journey/start-nuncio.ts'
import { WHATSAPP_WEB } from '../name.ts'
import { Calls } from './calls.ts'
import { type SocketOwner, ThreadHost } from './host.ts'

const MINUTE_MS = 60_000
const LIBRARY = 'node_modules/baileys/lib'
// While it loads the library, a thread may leave sixty of them without an answer, and five from then on.
const FEW_CALLS = 10

it('a thread that has ended five times within ten minutes rests for a quarter of an hour, and each of its sockets is reported as closed', async () => {
  const clock = new HandClock()
  const { host, noted } = openHost('throw new Error()', { clock })
  const rests: number[] = []

  for (let end = 1; end <= 5; end += 1) {
    await closed(host)
    rests.push(host.restsMs())
    if (end < 5) await clock.pass(2 * MINUTE_MS)
  }
  await clock.pass(15 * MINUTE_MS)

  assert.deepEqual(rests, [0, 0, 0, 0, 15 * MINUTE_MS])
  assert.deepEqual(
    noted,
    Array.from({ length: 5 }, () => 'channel.thread_ended'),
  )
  assert.equal(host.restsMs(), 0)
})

it('a thread that hangs is ended after a few calls without an answer once it has loaded the library, also before it has answered the first', async () => {
  const { host, noted } = openHost(
    'export function initAuthCreds() { setImmediate(() => { for (;;); }); throw new Error() }',
  )

  const calls = vi.spyOn(Calls.prototype, 'call')
  onTestFinished(() => calls.mockRestore())
  const countRenewals = () => calls.mock.calls.filter(([name]) => name === 'renew').length

  await closed(host)
  const before = countRenewals()
  await waitUntil('the end of the thread', async () => noted.length > 0, { deadlineMs: 2 * MINUTE_MS })

  assert.ok(countRenewals() - before < FEW_CALLS, `${countRenewals()} calls, ${before} of them before it had loaded`)
})

it('a host that stops reports each of its sockets as closed, also one that is opened later, and starts no thread for that', async () => {
  const { host, folder } = openHost(
    [
      "import { appendFileSync } from 'node:fs'",
      "appendFileSync(new URL('loads', import.meta.url), '.')",
      'export const initAuthCreds = () => ({})',
      "export const DEFAULT_CONNECTION_CONFIG = { version: '2.3000.1' }",
      // Of a server that says nothing.
      'const ws = { on() {}, off() {}, listeners: () => [], socket: null }',
      'export const makeWASocket = () => ({ ws, ev: { on() {} } })',
    ].join('\n'),
  )
  const { socket, isClosed } = openSocket(host)
  // It is answered after the socket was opened.
  await socket.find('15551234567')

  await host.stop()
  await Promise.all([isClosed, openSocket(host).isClosed])

  assert.equal(readFileSync(join(folder, LIBRARY, 'loads'), 'utf8'), '.')
})

it.each([
  [1, 1_024],
  [2_000, 3_128],
])('the memory of a thread that begins with %i sessions is limited to %i MB', async (sessions, limitMb) => {
  const { host, folder } = openHost(
    [
      "import { writeFileSync } from 'node:fs'",
      "import { resourceLimits } from 'node:worker_threads'",
      "writeFileSync(new URL('limit', import.meta.url), String(resourceLimits.maxOldGenerationSizeMb))",
      'throw new Error()',
    ].join('\n'),
    { sessions },
  )

  await closed(host)

  assert.equal(Number(readFileSync(join(folder, LIBRARY, 'limit'), 'utf8')), limitMb)
})

/** A host whose library is this source. */
function openHost(source: string, { clock = new HandClock(), sessions = 1 } = {}) {
  const noted: string[] = []
  const folder = libraryOf(source)
  const host = new ThreadHost({
    folder,
    sessions: () => sessions,
    rootKey: null,
    clock,
    channel: WHATSAPP_WEB,
    note: ({ event }) => noted.push(event),
  })
  onTestFinished(() => host.stop())
  return { host, noted, folder }
}

/** Resolves when a new socket is reported as closed. */
function closed(host: ThreadHost): Promise<void> {
  return openSocket(host).isClosed
}

function openSocket(host: ThreadHost) {
  const { promise: isClosed, resolve } = Promise.withResolvers<void>()
  const owner = {
    stillHolds: () => true,
    changed: ({ kind }: Parameters<SocketOwner['changed']>[0]) => kind === 'closed' && resolve(),
  }
  const socket = host.open(
    { url: 'ws://127.0.0.1:1', credentials: null, version: null },
    owner as unknown as SocketOwner,
  )
  return { socket, isClosed }
}

function libraryOf(source: string): string {
  const folder = temporaryFolder()
  const lib = join(folder, LIBRARY)
  mkdirSync(lib, { recursive: true })
  writeFileSync(join(folder, 'node_modules/baileys/package.json'), '{"type": "module"}')
  writeFileSync(join(lib, 'index.js'), source)
  return folder
}
