import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld, PNG } from '../../test/support/media-world/media-world.ts'
import { answering } from '../../test/support/media-world/test-host.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

describe('a fetch that goes well', () => {
  it('keeps the whole file, private, and says what it is', async () => {
    const host = await world.host(answering(200, { 'content-type': 'text/html' }, PNG))

    const fetched = await world.fetch(host.url('/picture?x=1'))

    expect(fetched).toMatchObject({ kind: 'fetched', file: { sizeBytes: PNG.length, mime: 'image/png' } })
    if (fetched.kind !== 'fetched') return
    expect(await readFile(fetched.file.path)).toEqual(PNG)
    expect(fetched.file.sha256).toBe(createHash('sha256').update(PNG).digest('hex'))
    expect((await stat(fetched.file.path)).mode & 0o777).toBe(0o600)
    expect((await stat(world.spoolDir)).mode & 0o777).toBe(0o700)
    expect(await world.spooled()).toEqual(['fetch-1.media'])
  })

  it('asks for the very bytes of the URL, and of the query of a redirect, because a signature may be made over them', async () => {
    const path = "/a/./it's/%7e?d=attachment;filename*=UTF-8''r.png&e=|{}"
    const host = await world.host((socket, request) =>
      request.includes('/a/./')
        ? answering(302, { location: "next?s=it's&t=a b#f" }, '')(socket, request)
        : answering(200, {}, PNG)(socket, request),
    )

    const fetched = await world.fetch(host.url(path))

    expect(fetched.kind).toBe('fetched')
    expect(host.requests.map((request) => request.split(' HTTP/')[0])).toEqual([
      `GET ${path}`,
      "GET /a/it's/next?s=it's&t=a%20b",
    ])
  })

  it('asks honestly and plainly: no cookies, no credentials, no compression', async () => {
    const host = await world.host(answering(200, { 'set-cookie': 'a=b' }, PNG))

    await world.fetch(host.url('/picture?x=1'))
    await world.fetch(host.url('/again'))

    const [first = '', second = ''] = host.requests
    expect(first.split('\r\n')[0]).toBe('GET /picture?x=1 HTTP/1.1')
    expect(first.toLowerCase()).toContain(`host: ${host.address}:${host.port}\r\n`)
    expect(first.toLowerCase()).toContain('accept-encoding: identity\r\n')
    expect(first).toMatch(/user-agent: nuncio/i)
    expect(first.toLowerCase()).toContain('connection: close\r\n')
    expect(first + second).not.toMatch(/cookie|authorization|referer|range/i)
  })
})
