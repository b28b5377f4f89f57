import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering, drip, response, type Script, type TestHost } from '../../test/support/media-world/test-host.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

const HEAD = 'HTTP/1.1 200 OK\r\n'
/** A failed fetch leaves no file and no connection. */
async function expectNothingLeft(host: TestHost): Promise<void> {
  expect(await world.spooled()).toEqual([])
  await expect.poll(() => host.open).toBe(0)
}

describe('hosts that are slow', () => {
  const slow = { slowBytesPerSecond: 4096, slowAfterMs: 300, slowWindowMs: 200 }

  it('ends a drip of single bytes by the low-speed rule', async () => {
    const host = await world.host(drip(`${HEAD}content-length: 5000\r\n\r\n`, { piece: Buffer.from('x'), everyMs: 20 }))

    const failed = await world.fetch(host.url(), { type: 'document', timing: slow })

    expect(failed).toMatchObject({ code: 'media_timeout', mayPass: true })
    expect((failed as { words: string }).words).toContain(' a second after ')
    await expectNothingLeft(host)
  })

  it('ends a host that sends much and then nothing', async () => {
    const host = await world.host((socket) =>
      socket.write(Buffer.concat([Buffer.from(`${HEAD}content-length: 5000000\r\n\r\n`), Buffer.alloc(500_000)])),
    )

    expect(await world.fetch(host.url(), { type: 'document', timing: slow })).toMatchObject({ code: 'media_timeout' })
    await expectNothingLeft(host)
  })

  it('lets a slow host finish that keeps to the least speed', async () => {
    let left = 50
    const host = await world.host((socket) => {
      socket.write(`${HEAD}content-length: 50000\r\n\r\n`)
      const timer = setInterval(() => {
        socket.write(Buffer.alloc(1000, 'x'))
        left -= 1
        if (left === 0) clearInterval(timer)
      }, 60)
    })

    // The window is so long that a short pause of this machine does not make the host seem slow.
    const timing = { slowBytesPerSecond: 1_000, slowAfterMs: 300, slowWindowMs: 2_000 }
    expect((await world.fetch(host.url(), { type: 'document', timing })).kind).toBe('fetched')
  })

  it('ends a drip that is fast enough by the total time', async () => {
    const host = await world.host(drip(`${HEAD}\r\n`, { piece: Buffer.alloc(1000), everyMs: 20 }))

    const failed = await world.fetch(host.url(), {
      type: 'document',
      timing: { leastTotalMs: 600, totalBytesPerSecond: 1e9 },
    })

    expect(failed).toMatchObject({ code: 'media_timeout', words: 'The whole file did not arrive within 600 ms.' })
    await expectNothingLeft(host)
  })

  it('control: the same drip is still running without the total time', async () => {
    const host = await world.host(drip(`${HEAD}\r\n`, { piece: Buffer.alloc(1000), everyMs: 20 }))
    const caller = new AbortController()
    setTimeout(() => caller.abort(new Error('enough')), 900)

    await expect(world.fetch(host.url(), { type: 'document', signal: caller.signal })).rejects.toThrow('enough')
  })

  it.each([
    ['no answer at all', () => {}],
    ['headers one byte at a time', drip(HEAD, { piece: Buffer.from('x'), everyMs: 20 })],
    ['interim responses one at a time', drip('', { piece: Buffer.from('HTTP/1.1 102 X\r\n\r\n'), everyMs: 100 })],
  ] satisfies [string, Script][])('ends %s by the time for headers', async (_what, script) => {
    const host = await world.host(script)

    const failed = await world.fetch(host.url(), { timing: { headersMs: 300 } })

    expect(failed).toMatchObject({
      code: 'media_timeout',
      mayPass: true,
      words: `${new URL(host.url()).hostname} did not answer the request within 300 ms.`,
    })
    await expectNothingLeft(host)
  })

  it('counts redirects into the total time', async () => {
    const host: TestHost = await world.host((socket) => {
      setTimeout(() => socket.end(response(302, { location: host.url() })), 200)
    })

    expect(await world.fetch(host.url(), { timing: { leastTotalMs: 500, totalBytesPerSecond: 1e9 } })).toMatchObject({
      code: 'media_timeout',
    })
  })

  it('reports that no host listens, and that no DNS server answers', async () => {
    const closed = await world.host(() => {})
    await closed.close()
    world.dns.set('silent.test', 'silence')
    world.dns.set('broken.test', { rcode: 'SERVFAIL' })
    world.dns.set('empty.test', {})

    expect(await world.fetch(closed.url())).toMatchObject({ code: 'media_connect', mayPass: true })
    expect(await world.fetch('http://silent.test/', { timing: { dnsMs: 300 } })).toMatchObject({
      code: 'media_dns',
      mayPass: true,
      words: 'No DNS server answered for the name "silent.test" within 300 ms.',
    })
    expect(await world.fetch('http://broken.test/')).toMatchObject({ code: 'media_dns', mayPass: true })
    expect(await world.fetch('http://empty.test/')).toMatchObject({
      code: 'media_dns',
      words: 'The name "empty.test" has no address.',
    })
    expect(await world.fetch('http://missing.test/')).toMatchObject({
      code: 'media_dns',
      words: 'The name "missing.test" does not exist.',
    })
  })

  it('uses the family that answered when the other does not', async () => {
    const host = await world.host(answering(200, {}, PNG))
    world.dns.set('half.test', (question) => (question === 1 ? { a: [host.address] } : 'silence'))

    const fetched = await world.fetch(`http://half.test:${host.port}/`, { timing: { dnsMs: 2_000 } })

    expect(fetched.kind).toBe('fetched')
  })
})

describe('the caller ends a fetch', () => {
  it.each([
    ['in the look-up', async () => `http://silent.test:${(await world.host(() => {})).port}/`],
    ['before the headers', async () => (await world.host(() => {})).url()],
    [
      'in the body',
      async () =>
        (await world.host(drip(`${HEAD}content-length: 50000\r\n\r\n`, { piece: Buffer.alloc(10), everyMs: 5 }))).url(),
    ],
  ])('leaves nothing behind %s', async (_where, prepare) => {
    world.dns.set('silent.test', 'silence')
    const url = await prepare()
    const caller = new AbortController()
    setTimeout(() => caller.abort(new Error('stopping')), 150)
    const startedAtMs = performance.now()

    await expect(world.fetch(url, { type: 'document', signal: caller.signal })).rejects.toThrow('stopping')

    expect(await world.spooled()).toEqual([])
    // At once, not when the stage would have ended by itself after three seconds.
    expect(performance.now() - startedAtMs).toBeLessThan(2000)
  })

  it('does nothing when it was ended before it began', async () => {
    const host = await world.host(answering(200, {}, PNG))

    await expect(world.fetch(host.url(), { signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over')

    expect(host.connects).toBe(0)
  })
})
