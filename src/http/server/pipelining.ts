import { MAX_BODY_BYTES } from './http-limits.ts'
import { pauseSocket } from './pause-socket.ts'
import type { RequestContext } from './request-context.ts'

// What follows waits with the caller until these are answered.
const PAUSE_FROM = 100
// Two of the largest bodies, hundreds of usual ones. A hundred of the largest on each of a thousand connections would be
// gigabytes of one caller.
const PAUSE_FROM_BYTES = 2 * MAX_BODY_BYTES
// One read brings what fits in 64 KB, of requests that send a message some 250 at most: nobody who sends messages gets
// here. Of the shortest requests that there are it brings thousands, and each of them costs some kilobytes until its
// caller has read the replies before it.
const MOST_WAITING = 400

/**
 * To be asked for a request that comes while the one before it waits for its reply. False when it is one too many: then
 * the connection has ended.
 */
export function mayPipeline(context: RequestContext, latest: RequestContext): boolean {
  const { socket } = context.request
  const waiting = context.queueBehind(latest)
  if (waiting.requests > MOST_WAITING) {
    context.endsConnection = true
    socket.destroy()
    return false
  }
  // Until the one before it is answered, whose body has come: its own may still be held back.
  if (waiting.requests > PAUSE_FROM || waiting.bodyBytes > PAUSE_FROM_BYTES)
    latest.response.once('close', pauseSocket(socket))
  return true
}
