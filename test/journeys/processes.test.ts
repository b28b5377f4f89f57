import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { isRunning, StubGroup } from '../support/processes/stub-group.ts'

const DEADLINE = { deadlineMs: 30_000, everyMs: 20 }

function only<Item>(items: readonly Item[]): Item {
  const [item] = items
  if (item === undefined || items.length > 1) throw new Error(`one was expected: ${JSON.stringify(items)}`)
  return item
}

/** The answer; null if the connection is reset. */
function askForHealth(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    socket.on('error', () => {})
    socket.on('close', () => resolve(null))
    socket.on('data', (data) => resolve(String(data)))
    socket.write('GET /health/live HTTP/1.1\r\nhost: stub\r\n\r\n')
  })
}

describe('several processes on one machine', () => {
  it('share one port, print one banner, name themselves in the log, and stop in order', async () => {
    const group = new StubGroup({ processes: 3 })

    const url = await group.serves()
    const pids = await group.answersBy(url, 3)
    group.signal('SIGTERM')
    const ending = await group.ended()

    assert.deepEqual(ending, { code: 0, signal: null })
    assert.equal(pids.has(group.parent.pid ?? 0), false)
    assert.equal(group.stdout.split(' on http:').length, 2, group.stdout)
    assert.match(group.stdout, /\n {2}roles {5}dispatch\n {2}processes 3\n/)
    const stopped = group.said('stub.stopped').map(({ process: number }) => number)
    assert.deepEqual([stopped.length, new Set(stopped)], [3, new Set([1, 2, 3])])
    const parents = only(group.said('stopping; a second signal forces it'))
    assert.equal('process' in parents, false)
  })

  it('reset connections beyond the room of all of them together', async () => {
    const group = new StubGroup({})
    const url = new URL(await group.serves())

    const sockets = Array.from({ length: 11 }, () => connect(Number(url.port), url.hostname))
    // Each connection is either answered or reset; none has to wait for room.
    const answers = await Promise.all(sockets.map(askForHealth))
    for (const socket of sockets) socket.destroy()

    const heard = answers.filter((answer) => answer !== null)
    assert.ok(heard.length >= 4 && heard.length <= 8, `${heard.length} were heard`)
    assert.deepEqual(new Set(heard.map((answer) => answer.slice(0, 15))), new Set(['HTTP/1.1 200 OK']))
  })

  it('show the metrics of all, whichever one answers', async () => {
    const group = new StubGroup({ processes: 3 })
    const url = await group.serves()

    const answers = await Promise.all(
      Array.from({ length: 6 }, async () =>
        (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text(),
      ),
    )

    const pids = group.pids.toSorted((a, b) => a - b)
    for (const answer of answers)
      assert.deepEqual(
        answer
          .split(' ')
          .map(Number)
          .toSorted((a, b) => a - b),
        pids,
      )
  })

  it('restart a killed one at once, on the same port and under the same number', async () => {
    const group = new StubGroup({})
    const url = await group.serves()
    const victim = group.said('stub.starts')[0]

    process.kill(victim?.pid ?? Number.NaN, 'SIGKILL')
    await waitUntil('another takes its place', async () => group.pids.length === 3, DEADLINE)

    assert.equal(group.said('stub.starts')[2]?.process, victim?.process)
    await group.answersBy(url, 2)
    const { how, againInMs, process: number } = only(group.said('process.ended'))
    assert.deepEqual([how, againInMs, number], ['SIGKILL', 0, victim?.process])
    assert.ok(isRunning(group.parent.pid ?? 0))
  })

  it('stop at a Ctrl+C that reaches all of them as if only the parent had received it', async () => {
    const group = new StubGroup({})
    await group.serves()

    group.signalAll('SIGINT')

    assert.deepEqual(await group.ended(), { code: 0, signal: null })
    assert.equal(group.said('stub.stopped').length, 2)
  })

  it('end at once at the second signal, the parent last', async () => {
    const group = new StubGroup({})
    await group.serves()
    group.behave('hang')

    group.signal('SIGTERM')
    await waitUntil('both are at it', async () => group.said('stub.closed').length === 2, DEADLINE)
    group.signal('SIGTERM')
    const ending = await group.ended()

    assert.equal(ending.code, 1)
    assert.deepEqual([group.livingPids, group.said('stub.stopped')], [[], []])
  })

  it.each([
    ['refuse', 'nuncio: The stub refuses to start. (database_unavailable)\n'],
    ['fault', /^nuncio: Something went wrong that should not: the stub is broken\. [^\n]+\n$/],
    ['exit', /^nuncio: Something went wrong that should not: process \d ended while it was starting \(exit code 7\)/],
  ] as const)('end with one sentence when they cannot begin (%s)', async (mode, sentence) => {
    const group = new StubGroup({ mode, processes: 3 })

    const { code } = await group.ended()

    assert.equal(code, 1)
    if (typeof sentence === 'string') assert.equal(group.stderr, sentence)
    else assert.match(group.stderr, sentence)
    assert.equal(group.stderr.trimEnd().split('\n').length, 1)
    assert.deepEqual([group.livingPids, group.pids.length], [[], 3])
    assert.doesNotMatch(group.stdout, /Nuncio runs/)
  })

  it('end with one sentence when the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const group = new StubGroup({ port })

    const { code } = await group.ended()
    taken.close()

    assert.equal(code, 1)
    assert.equal(
      group.stderr,
      `nuncio: Another program listens on 127.0.0.1:${port} already. Set NUNCIO_PORT to another port. (address_in_use)\n`,
    )
  })

  it('end in order when the parent is killed', async () => {
    const group = new StubGroup({})
    await group.serves()

    group.signal('SIGKILL')
    // The parent waits until the last of them has closed its output.
    await group.ended()

    assert.equal(group.said('stub.stopped').length, 2)
    const heard = group.said('the parent process is gone; stopping').map(({ process: number }) => number)
    assert.deepEqual(new Set(heard), new Set([1, 2]))
  })

  it('replace one that alone received a signal to stop', async () => {
    const group = new StubGroup({})
    await group.serves()
    const [first = 0] = group.pids

    process.kill(first, 'SIGTERM')
    await waitUntil('it stopped and another began', async () => group.pids.length === 3, DEADLINE)

    assert.equal(only(group.said('stub.stopped')).pid, first)
    assert.equal(only(group.said('process.ended'))['how'], 'exit code 0')
  })
})
