import type { LibrarySocket, StanzaNode } from './library.ts'

const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 30_000

/** Tries until it is stored. False when the line ended before. */
export async function storedOnLine({ ws }: Pick<LibrarySocket, 'ws'>, store: () => Promise<void>): Promise<boolean> {
  const line = ws.socket
  let waitMs = FIRST_RETRY_MS
  do {
    try {
      await store()
      return true
    } catch {
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)
    }
  } while (ws.isOpen && ws.socket === line)
  return false
}

/**
 * Stores something about each stanza before the library acknowledges it. If the line ends first, WhatsApp sends the stanza
 * again at the next login.
 */
export function storeFirst(socket: LibrarySocket, event: string, store: (node: StanzaNode) => Promise<void>): void {
  const { ws } = socket
  const theirs = ws.listeners(event)
  for (const listener of theirs) ws.off(event, listener)
  ws.on(event, async (node) => {
    if (!(await storedOnLine(socket, () => store(node)))) return
    // An error that nothing handles would end the thread.
    for (const listener of theirs) await Promise.resolve(listener(node)).catch(() => {})
  })
}
