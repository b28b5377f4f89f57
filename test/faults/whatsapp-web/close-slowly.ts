import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { wrap } from '../postgres/wrap.ts'

// Loaded by a worker before its own code. Its sessions close as on a busy machine: for so long their lines are open still. A worker
// that released its claim before would be put out by the login of the next owner.
const CLOSES_AFTER_MS = 3_000

if (isMainThread) {
  const { WebSession } = await import('../../../src/channels/whatsapp-web/session.ts')
  wrap(WebSession.prototype, 'close', async (call) => {
    await pause(CLOSES_AFTER_MS)
    return call()
  })
}
