import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { LibrarySocket } from './library.ts'
import { storeFirst } from './stored-first.ts'

const STANZA = { tag: 'receipt', attrs: { id: '1' } }

describe('a stanza that is stored first', () => {
  it('is acknowledged once it is stored', async () => {
    const world = open(async (order) => void order.push('stored'))

    await world.bring()

    assert.deepEqual(world.order, ['stored', 'acknowledged'])
  })

  it('is tried again while storage is away, and acknowledged only then', async () => {
    let isAway = true
    const world = open(async (order) => {
      order.push(isAway ? 'refused' : 'stored')
      if (isAway) throw new Error('storage is away')
    })
    await world.bring()
    assert.deepEqual(world.order, ['refused'])

    isAway = false

    await waitUntil('the acknowledgement', async () => world.order.at(-1) === 'acknowledged', { deadlineMs: 5_000 })
    assert.deepEqual(world.order, ['refused', 'stored', 'acknowledged'])
  })

  it('is given up when the line has ended', async () => {
    const world = open(async (order) => {
      order.push('refused')
      world.ws.isOpen = false
      throw new Error('storage is away')
    })

    await world.bring()
    await new Promise((resolve) => setTimeout(resolve, 600))

    assert.deepEqual(world.order, ['refused'])
  })
})

/** A socket whose library acknowledges all it gets. */
function open(store: (order: string[]) => Promise<void>) {
  const order: string[] = []
  const line: { socket: object | null; isOpen: boolean } = { socket: {}, isOpen: true }
  const ws: EventEmitter & typeof line = Object.assign(new EventEmitter(), line)
  ws.on('stanza', () => void order.push('acknowledged'))
  storeFirst({ ws } as unknown as LibrarySocket, 'stanza', () => store(order))
  return {
    order,
    ws,
    async bring() {
      ws.emit('stanza', STANZA)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}
