import type { LibrarySocket, StanzaNode } from './library.ts'
import type { SocketReceipt } from './messages.ts'

const RECEIPT_EVENT = 'CB:receipt'
const KINDS: Readonly<Record<string, SocketReceipt['kind']>> = {
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  // Our own phone has it, so WhatsApp took it.
  sender: 'sent',
}

/** Has each receipt kept before the library acknowledges it. One that is not kept comes again with the next login. */
export function keepReceiptsFirst({ ws }: LibrarySocket, keep: (receipt: SocketReceipt) => Promise<void>): void {
  const theirs = ws.listeners(RECEIPT_EVENT)
  for (const listener of theirs) ws.off(RECEIPT_EVENT, listener)
  ws.on(RECEIPT_EVENT, async (node) => {
    const receipt = readReceipt(node)
    try {
      if (receipt) await keep(receipt)
      for (const listener of theirs) await listener(node)
    } catch {
      // Without an acknowledgement it comes again.
    }
  })
}

function readReceipt({ attrs, content }: StanzaNode): SocketReceipt | null {
  const kind = KINDS[attrs['type'] ?? 'delivered']
  if (!kind) return null
  const list = Array.isArray(content) ? (content as readonly StanzaNode[]).find(({ tag }) => tag === 'list') : undefined
  const items = Array.isArray(list?.content) ? (list.content as readonly StanzaNode[]) : []
  const wireIds = [attrs['id'], ...items.map((item) => item.attrs['id'])].filter((id) => id !== undefined)
  const seconds = Number(attrs['t'])
  return {
    wireIds: [...new Set(wireIds)],
    kind,
    at: Number.isSafeInteger(seconds) && seconds > 0 ? seconds * 1000 : null,
  }
}
