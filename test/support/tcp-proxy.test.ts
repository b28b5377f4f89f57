import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { waitUntil } from './black-box/wait-until.ts'
import { withClient } from './postgres/postgres-server.ts'
import { openTestDatabase } from './postgres/test-database.ts'
import { cutAt, TcpProxy } from './tcp-proxy.ts'

const SOON = { deadlineMs: 5_000, everyMs: 5 }
// Long enough for a chunk to arrive, if one was sent.
const A_WHILE_MS = 100

describe('a TCP fault proxy', () => {
  let echo: Server
  let received: string
  let proxy: TcpProxy
  let clients: Client[]

  beforeEach(async () => {
    received = ''
    clients = []
    echo = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        received += chunk.toString()
        socket.write(`echo ${chunk.toString()}`)
      })
    }).listen(0, '127.0.0.1')
    await once(echo, 'listening')
    proxy = await TcpProxy.open((echo.address() as AddressInfo).port)
  })

  afterEach(async () => {
    for (const { socket } of clients) socket.destroy()
    await proxy.close()
    await proxy.close()
    echo.close()
  })

  it('forwards both ways, and the end of a connection', async () => {
    const client = await join()

    client.socket.write('one')
    await client.reads('echo one')
    client.socket.end()

    await client.closed
    assert.equal(client.error, null)
    assert.equal(proxy.connections, 1)
  })

  it('forwards much data to a slow reader', async () => {
    const client = await join()
    const much = Buffer.alloc(5_000_000, 'x')
    client.socket.pause()

    client.socket.write(much)
    await setTimeout(A_WHILE_MS)
    client.socket.resume()

    await waitUntil('all of it arrives', async () => received.length === much.length, SOON)
  })

  it('delays each chunk, and keeps the order even when the delay gets shorter', async () => {
    const client = await join()
    let seen = ''
    proxy.onClientData = (chunk) => {
      seen += chunk.toString()
      return 'forward'
    }
    proxy.delayMs = 150
    const startedAt = performance.now()
    client.socket.write('a')
    await waitUntil('it is on its way', async () => seen === 'a', SOON)
    proxy.delayMs = 0
    client.socket.write('b')

    await waitUntil('both arrive', async () => received.length === 2, SOON)
    assert.equal(received, 'ab')
    assert.ok(performance.now() - startedAt >= 149)
  })

  it.each([
    { sides: [], arrives: '', answers: '' },
    { sides: ['client'] as const, arrives: '', answers: '' },
    { sides: ['server'] as const, arrives: 'lost', answers: '' },
  ])(
    'swallows what $sides send, and then closes the connections that have lost data',
    async ({ sides, arrives, answers }) => {
      const client = await join()
      const untouched = await join()
      proxy.blackHole(...sides)

      client.socket.write('lost')
      await setTimeout(A_WHILE_MS)
      const stayedOpen = !client.socket.destroyed
      proxy.heal()
      await client.closed
      untouched.socket.write('kept')
      await untouched.reads('echo kept')

      assert.ok(stayedOpen)
      assert.deepEqual([received, client.text], [`${arrives}kept`, answers])
    },
  )

  it('accepts new connections in a black hole, and answers nothing', async () => {
    proxy.blackHole()

    const client = await join()
    client.socket.write('hello?')
    await setTimeout(A_WHILE_MS)

    assert.deepEqual([received, client.text, client.socket.destroyed], ['', '', false])
  })

  it('cuts all connections, resets new ones, and accepts them again', async () => {
    const client = await join()
    client.socket.write('one')
    await client.reads('echo one')

    proxy.acceptsConnections = false
    proxy.cutAll()
    await client.closed
    const refused = await join()
    await refused.closed
    proxy.acceptsConnections = true
    const welcome = await join()
    welcome.socket.write('two')
    await welcome.reads('echo two')

    assert.equal(client.error?.code, 'ECONNRESET')
    assert.equal(refused.error?.code, 'ECONNRESET')
  })

  it('cuts at a pattern from the client, before the server gets it', async () => {
    const client = await join()
    proxy.onClientData = cutAt('COMMIT')
    client.socket.write('BEGIN')
    await client.reads('echo BEGIN')

    client.socket.write('COMMIT')

    await client.closed
    assert.equal(received, 'BEGIN')
  })

  it('cuts at the reply, after the server has got the whole request', async () => {
    const client = await join()
    proxy.onServerData = cutAt('echo COMMIT')

    client.socket.write('COMMIT')

    await client.closed
    assert.deepEqual([received, client.text], ['COMMIT', ''])
  })

  it('holds a chosen chunk and all after it, until they are released', async () => {
    const client = await join()
    proxy.onServerData = (chunk) => (chunk.includes('two') ? 'hold' : 'forward')
    for (const word of ['one', 'two', 'three']) {
      client.socket.write(word)
      await waitUntil(`${word} arrives`, async () => received.endsWith(word), SOON)
    }
    await setTimeout(A_WHILE_MS)
    const held = client.text

    proxy.release()

    await client.reads('echo oneecho twoecho three')
    assert.equal(held, 'echo one')
  })

  it('resets the client when no server listens behind it', async () => {
    const closed = await TcpProxy.open(1)

    const client = await join(closed)
    await client.closed

    await closed.close()
    assert.equal(client.error?.code, 'ECONNRESET')
  })

  async function join(through = proxy): Promise<Client> {
    const client = new Client(through.port)
    clients.push(client)
    await client.connected
    return client
  }
})

describe('a TCP fault proxy in front of PostgreSQL', () => {
  it('cuts off the reply to a commit: the server has committed, and the client does not know', async () => {
    const database = await openTestDatabase()
    const { port, hostname } = new URL(database.url)
    const proxy = await TcpProxy.open(Number(port) || 5432, hostname)
    const client = new pg.Client({ connectionString: proxy.through(database.url) })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('create table written (n int)')
      await client.query('begin')
      await client.query('insert into written values (1)')
      proxy.onServerData = cutAt('COMMIT')

      await assert.rejects(client.query('commit'))

      const { rows } = await withClient(database.url, (other) => other.query('select n from written'))
      assert.deepEqual(rows, [{ n: 1 }])
    } finally {
      await client.end().catch(() => {})
      await proxy.close()
      await database.drop()
    }
  })
})

class Client {
  readonly socket: Socket
  readonly connected: Promise<unknown>
  readonly closed: Promise<void>
  text = ''
  error: NodeJS.ErrnoException | null = null

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()))
    // A client that is reset may notice so early that it was never connected.
    this.connected = Promise.race([new Promise((resolve) => this.socket.once('connect', resolve)), this.closed])
    this.socket.on('data', (chunk) => (this.text += chunk.toString()))
    this.socket.on('error', (error) => {
      this.error = error
    })
  }

  async reads(text: string): Promise<void> {
    await waitUntil(`${text} comes back`, async () => this.text === text, SOON)
  }
}
