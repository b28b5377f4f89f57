import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FETCHER, MediaWorld } from '../../test/support/media-world/media-world.ts'
import { Spool } from './spool.ts'

const MEGABYTE = 1024 * 1024
const PIECE = Buffer.alloc(MEGABYTE, 'nuncio ')

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

/** Sends a file of so many megabytes as fast as the other side takes it. */
function sender(megabytes: number, sent: { bytes: number }) {
  return (socket: Socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${megabytes * MEGABYTE}\r\n\r\n`)
    let left = megabytes
    const pump = () => {
      while (left > 0 && socket.writableLength < 2 * MEGABYTE) {
        left -= 1
        socket.write(PIECE, () => {
          sent.bytes += PIECE.length
        })
      }
      if (left > 0) socket.once('drain', pump)
      else socket.end()
    }
    pump()
  }
}

describe('a file of 100 MB', () => {
  it('goes through in little memory, byte for byte', async () => {
    const sent = { bytes: 0 }
    const host = await world.host(sender(95, sent))
    const before = process.memoryUsage().arrayBuffers
    let highest = 0
    const timer = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().arrayBuffers - before)
    }, 5)

    const fetched = await world.fetch(host.url(), { type: 'document' })
    clearInterval(timer)

    expect(fetched).toMatchObject({ kind: 'fetched', file: { sizeBytes: 95 * MEGABYTE } })
    if (fetched.kind !== 'fetched') return
    expect(fetched.file.sha256).toBe(
      createHash('sha256')
        .update(await readFile(fetched.file.path))
        .digest('hex'),
    )
    expect(highest).toBeLessThan(16 * MEGABYTE)
  })

  it('is not read ahead of a disk that hangs', async () => {
    const sent = { bytes: 0 }
    const host = await world.host(sender(95, sent))
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const written = { bytes: 0 }
    const replaced = { spool: stallingSpool(4 * MEGABYTE, { released, written }) }

    const fetching = world.fetch(host.url(), { type: 'document', replaced })
    const settled = await settle(() => sent.bytes)

    // What lies between are the buffers of the two sockets, in this process and in the system; not the file.
    expect(settled - written.bytes).toBeLessThan(24 * MEGABYTE)
    release()
    expect(await fetching).toMatchObject({ kind: 'fetched' })
  })
})

describe('a file before its reader is ready', () => {
  it('is not read ahead while its spool file is being made', async () => {
    const sent = { bytes: 0 }
    const host = await world.host(sender(95, sent))
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const spool = new (class extends Spool {
      override async create(name: string) {
        await released
        return super.create(name)
      }
    })({ directory: world.spoolDir, worker: FETCHER })

    const fetching = world.fetch(host.url(), { type: 'document', replaced: { spool } })
    const settled = await settle(() => sent.bytes)

    expect(settled).toBeLessThan(24 * MEGABYTE)
    release()
    expect(await fetching).toMatchObject({ kind: 'fetched' })
  })
})

/** A spool whose disk takes so many bytes and then hangs until it is released. */
function stallingSpool(
  bytes: number,
  { released, written }: { readonly released: Promise<void>; readonly written: { bytes: number } },
): Spool {
  return new (class extends Spool {
    override async create(name: string) {
      const file = await super.create(name)
      return {
        ...file,
        write: async (pieces: readonly Uint8Array[]) => {
          if (written.bytes >= bytes) await released
          for (const piece of pieces) written.bytes += piece.length
          await file.write(pieces)
        },
      }
    }
  })({ directory: world.spoolDir, worker: FETCHER })
}

/** Waits until a number no longer changes and returns it. */
async function settle(read: () => number): Promise<number> {
  for (let last = -1; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (read() > 0 && read() === last) return last
    last = read()
  }
}
