import type { Socket } from 'node:net'

const PAUSES = Symbol('holds')
type Pausable = Socket & { [PAUSES]?: number }

/**
 * Takes nothing more from a connection until every hold on it has been let go, once each. What its caller sends on
 * waits with the system, and beyond that with the caller. What had arrived with the same read is still taken.
 */
export function pauseSocket(socket: Pausable): () => void {
  const pauses = (socket[PAUSES] ?? 0) + 1
  socket[PAUSES] = pauses
  if (pauses === 1) socket.on('resume', pauseAgain)
  socket.pause()
  return () => {
    const left = (socket[PAUSES] ?? 1) - 1
    socket[PAUSES] = left
    if (left > 0) return
    socket.off('resume', pauseAgain)
    socket.resume()
  }
}

/** Node's server makes a connection flow by itself, at the end of each request and when a body is read. */
function pauseAgain(this: Socket): void {
  this.pause()
  // Said once more, because the stream says it only when it flows, and this may be the echo of an older `resume`: then
  // it has stopped already, but the server has just been told to read.
  this.emit('pause')
}
