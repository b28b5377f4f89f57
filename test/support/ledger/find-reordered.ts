import type { SentRequest } from './ledger-input.ts'

/**
 * Checks the order of first deliveries (or first attempts) to each recipient of each connection, as far as the client can know
 * it: a request that was answered before another was sent comes first. If one client per connection sends one request after the
 * other, this is the whole order. Requests that overlapped may come either way.
 */
export function findReordered(
  order: readonly { readonly messageId: string; readonly request: SentRequest }[],
): string[] {
  const seen = new Set<string>()
  const latest = new Map<string, { messageId: string; sentAt: number }>()
  const reordered: string[] = []
  for (const { messageId, request } of order) {
    if (seen.has(messageId)) continue
    seen.add(messageId)
    const { connection, to, sentAt, answer } = request
    const recipient = `${connection} ${to}`
    const before = latest.get(recipient)
    // Comparing with the latest `sentAt` is enough: if any earlier delivery was sent after this answer, that one was.
    if (before && answer.kind === 'acked' && answer.at < before.sentAt) {
      reordered.push(
        `${messageId} of ${connection} to ${to} comes after ${before.messageId}, which was sent only after its answer`,
      )
    }
    if (!before || sentAt > before.sentAt) latest.set(recipient, { messageId, sentAt })
  }
  return reordered
}
