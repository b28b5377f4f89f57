import { MAX_BODY_BYTES } from './http-limits.ts'
import { pauseSocket } from './pause-socket.ts'
import type { RequestContext } from './request-context.ts'

// With this many requests waiting, the connection is paused until they are answered.
const PAUSE_FROM = 100
// Two of the largest bodies, hundreds of usual ones. A hundred of the largest on each of a thousand connections would
// be gigabytes for one caller.
const PAUSE_FROM_BYTES = 2 * MAX_BODY_BYTES
// One read brings 64 KB: some 250 requests that send a message, so such callers never reach this. Of the shortest
// possible requests it brings thousands, and each costs some kilobytes until the replies before it have been read.
const MOST_WAITING = 400

/**
 * Checks a request that comes while the one before it waits for its reply. False when there are too many: the connection
 * has then been ended.
 */
export function mayPipeline(context: RequestContext, latest: RequestContext): boolean {
  const { socket } = context.request
  const waiting = context.queueBehind(latest)
  if (waiting.requests > MOST_WAITING) {
    context.endsConnection = true
    socket.destroy()
    return false
  }
  // Until the previous request is answered, whose body has arrived: this one's body may still wait for `100 Continue`.
  if (waiting.requests > PAUSE_FROM || waiting.bodyBytes > PAUSE_FROM_BYTES)
    latest.response.once('close', pauseSocket(socket))
  return true
}
