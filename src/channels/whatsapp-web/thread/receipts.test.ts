import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import type { LibrarySocket, StanzaNode } from './library.ts'
import type { SocketReceipt } from './messages.ts'
import { keepReceiptsFirst } from './receipts.ts'

const SECONDS = 1_790_000_000

describe('a receipt of WhatsApp', () => {
  it.each([
    { type: undefined, kind: 'delivered' },
    { type: 'read', kind: 'read' },
    { type: 'played', kind: 'read' },
    { type: 'sender', kind: 'sent' },
  ])('of type $type is kept as $kind, with all ids of its list, before the library has it', async ({ type, kind }) => {
    const order: unknown[] = []
    const bring = open(async (receipt) => void order.push(receipt), order)

    await bring(receiptOf(type, ['2', '3', '1']))

    assert.deepEqual(order, [{ wireIds: ['1', '2', '3'], kind, at: SECONDS * 1000 }, 'acknowledged'])
  })

  it('of another type is left to the library', async () => {
    const order: unknown[] = []
    const bring = open(async (receipt) => void order.push(receipt), order)

    await bring(receiptOf('retry', []))

    assert.deepEqual(order, ['acknowledged'])
  })

  it('that cannot be kept is not acknowledged', async () => {
    const order: unknown[] = []
    const bring = open(() => Promise.reject(new Error('storage is away')), order)

    await bring(receiptOf('read', []))

    assert.deepEqual(order, [])
  })
})

/** Brings a stanza to a socket whose library acknowledges all it gets. */
function open(keep: (receipt: SocketReceipt) => Promise<void>, order: unknown[]): (node: StanzaNode) => Promise<void> {
  const ws = new EventEmitter()
  ws.on('CB:receipt', () => void order.push('acknowledged'))
  keepReceiptsFirst({ ws } as unknown as LibrarySocket, keep)
  return async (node) => {
    ws.emit('CB:receipt', node)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function receiptOf(type: string | undefined, more: readonly string[]): StanzaNode {
  const items = more.map((id) => ({ tag: 'item', attrs: { id } }))
  return {
    tag: 'receipt',
    attrs: { id: '1', t: String(SECONDS), type },
    content: [{ tag: 'list', attrs: {}, content: items }],
  }
}
