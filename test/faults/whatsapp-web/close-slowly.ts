import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { wrap } from '../postgres/wrap.ts'

// A worker loads this file before its own code. It makes sessions close as slowly as on a busy machine, and their lines stay open
// for that time. If the worker released its claim earlier, the login of the next owner would end these lines.
const CLOSES_AFTER_MS = 3_000

if (isMainThread) {
  const { WebSession } = await import('../../../src/channels/whatsapp-web/session.ts')
  wrap(WebSession.prototype, 'close', async (call) => {
    await pause(CLOSES_AFTER_MS)
    return call()
  })
}
