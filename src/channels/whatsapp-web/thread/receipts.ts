import type { StanzaNode } from './library.ts'
import type { SocketReceipt } from './messages.ts'

export const RECEIPT_EVENT = 'CB:receipt'
const KINDS: Readonly<Record<string, SocketReceipt['kind']>> = {
  delivered: 'delivered',
  read: 'read',
  played: 'read',
  // Our own phone has it, so WhatsApp took it.
  sender: 'sent',
}

/** What a receipt reports; null for one of another kind. */
export function readReceipt({ attrs, content }: StanzaNode): SocketReceipt | null {
  const kind = KINDS[attrs['type'] ?? 'delivered']
  if (!kind) return null
  const list = Array.isArray(content) ? (content as readonly StanzaNode[]).find(({ tag }) => tag === 'list') : undefined
  const items = Array.isArray(list?.content) ? (list.content as readonly StanzaNode[]) : []
  const wireIds = [attrs['id'], ...items.map((item) => item.attrs['id'])].filter((id) => id !== undefined)
  return { wireIds: [...new Set(wireIds)], kind, at: timeOf(attrs['t']) }
}

function timeOf(text: string | undefined): number | null {
  const seconds = Number(text)
  return Number.isSafeInteger(seconds) && seconds > 0 ? seconds * 1000 : null
}
