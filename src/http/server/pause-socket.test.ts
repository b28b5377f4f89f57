import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { pauseSocket } from './pause-socket.ts'

const REQUEST = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nHello'

describe('a paused connection of an HTTP server', () => {
  let server: Server
  let caller: Socket
  /** The server's end of the connection. */
  let held: Socket
  let requests = 0

  beforeEach(async () => {
    requests = 0
    server = createServer((_request, response) => {
      requests += 1
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
    caller = connect((server.address() as AddressInfo).port, '127.0.0.1').resume()
    held = await accepted
    caller.write(REQUEST)
    await until(() => requests === 1)
  })

  afterEach(async () => {
    caller.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  it('reads nothing until each pause has ended', async () => {
    const [first, second] = [pauseSocket(held), pauseSocket(held)]
    caller.write(REQUEST)
    await whatCanArrive(server)
    assert.equal(requests, 1)
    first()
    await whatCanArrive(server)
    assert.equal(requests, 1)
    second()

    await until(() => requests === 2)
  })

  it('reads nothing although it is resumed', async () => {
    const release = pauseSocket(held)
    held.resume()
    caller.write(REQUEST)
    await whatCanArrive(server)
    held.resume()
    await whatCanArrive(server)
    assert.equal(requests, 1)
    release()

    await until(() => requests === 2)
  })

  it('reads nothing although it had just been resumed after an earlier pause', async () => {
    pauseSocket(held)()
    const release = pauseSocket(held)
    caller.write(REQUEST)
    await whatCanArrive(server)
    assert.equal(requests, 1)
    release()

    await until(() => requests === 2)
  })

  it('works as before once all pauses have ended', async () => {
    for (let time = 0; time < 3; time++) {
      pauseSocket(held)()
      caller.write(REQUEST)
      await until(() => requests === 2 + time)
    }
    assert.equal(held.listenerCount('resume'), 1)
  })
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

/** Opens and closes another connection: data sent before it has then arrived, and would have been read. */
async function whatCanArrive(server: Server): Promise<void> {
  for (let time = 0; time < 3; time++) {
    const gone = new Promise((resolve) => server.once('connection', (socket: Socket) => socket.once('close', resolve)))
    const other = connect((server.address() as AddressInfo).port, '127.0.0.1', () => other.end())
    other.resume()
    await gone
  }
}
