import type { Exchange } from './exchange.ts'
import { holdSocket } from './hold-socket.ts'

// What follows waits with the caller until these are answered.
const HELD_FROM = 100
// One read brings what fits in 64 KB, of requests that send a message some 250 at most: nobody who sends messages gets
// here. Of the shortest requests that there are it brings thousands, and each of them costs some kilobytes until its
// caller has read the replies before it.
const MOST_WAITING = 400

/**
 * To be asked for a request that comes while the one before it waits for its reply. False when it is one too many: then
 * the connection has ended.
 */
export function mayFollow(exchange: Exchange, latest: Exchange): boolean {
  const { socket } = exchange.request
  const waiting = exchange.follow(latest)
  if (waiting > MOST_WAITING) {
    exchange.endsConnection = true
    socket.destroy()
    return false
  }
  // Until the one before it is answered, whose body has come: its own may still be held back.
  if (waiting > HELD_FROM) latest.response.once('close', holdSocket(socket))
  return true
}
