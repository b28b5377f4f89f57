import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import { garbageCollector } from '../../../test/support/garbage-collector.ts'
import { type BodyBounds, readBody } from './read-body.ts'
import type { RequestContext } from './request-context.ts'

const MEGABYTE = 1024 * 1024

/** A request without a socket, whose body is read into `ends`. */
function reading(bounds: BodyBounds, headers: Readonly<Record<string, string>> = { 'transfer-encoding': 'chunked' }) {
  const request = Object.assign(new EventEmitter(), { headers, destroyed: false })
  const ends: (Buffer | null)[] = []
  readBody({ request } as unknown as RequestContext, bounds, (body) => ends.push(body))
  return { request, ends }
}

describe('the body of a request', () => {
  it('is passed on unchanged when it comes in one piece', () => {
    const { request, ends } = reading({ maxBytes: 100 }, { 'content-length': '5' })
    const piece = Buffer.from('hello')

    request.emit('data', piece)

    assert.equal(ends.length, 1)
    assert.equal(ends[0], piece)
  })

  it('is the same for all sizes of pieces', () => {
    const whole = Buffer.from(Array.from({ length: 10_000 }, (_, place) => place % 251))
    for (const size of [1, 2, 7, 999, 2_048, 9_999]) {
      for (const headers of [{ 'content-length': '10000' }, { 'transfer-encoding': 'chunked' }]) {
        const { request, ends } = reading({ maxBytes: whole.length }, headers)

        for (let from = 0; from < whole.length; from += size) request.emit('data', whole.subarray(from, from + size))
        request.emit('end')

        assert.equal(ends.length, 1)
        assert.equal(ends[0]?.equals(whole), true, `in pieces of ${size}`)
      }
    }
  })

  it('takes no more memory in pieces of one byte than in large ones', () => {
    const collect = garbageCollector()
    const used = () => {
      collect()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const { request, ends } = reading({ maxBytes: MEGABYTE })
    const before = used()

    for (let sent = 0; sent < MEGABYTE; sent++) request.emit('data', Buffer.alloc(1, sent))
    const grownBytes = used() - before
    request.emit('end')

    assert.equal(ends[0]?.length, MEGABYTE)
    // As a list of pieces it was more than 100 MB.
    assert.ok(grownBytes < 8 * MEGABYTE, `it took ${Math.round(grownBytes / MEGABYTE)} MB`)
  })

  it('is discarded when it is larger than the limit, or refused midway', () => {
    const asked: (readonly [bytes: number, pieces: number])[] = []
    const mayKeep = (bytes: number, pieces: number) => {
      asked.push([bytes, pieces])
      return pieces < 3
    }
    const large = reading({ maxBytes: 3 })
    const refused = reading({ maxBytes: 100, mayKeep })

    for (const { request } of [large, refused]) {
      for (let sent = 0; sent < 5; sent++) request.emit('data', Buffer.from('ab'))
      request.emit('end')
    }

    assert.deepEqual([large.ends, refused.ends], [[null], []])
    assert.deepEqual(asked, [
      [2, 1],
      [4, 2],
      [6, 3],
    ])
  })
})
