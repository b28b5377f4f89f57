import type { Socket } from 'node:net'

const PAUSES = Symbol('pauses')
type Pausable = Socket & { [PAUSES]?: number }

/**
 * Reads nothing more from a connection until each pause has been ended by calling its returned function once. Further
 * data waits in the system's buffer, and then at the caller. Data of the same read is still processed.
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

/** Node's server resumes a connection by itself, at the end of each request and when a body is read. */
function pauseAgain(this: Socket): void {
  this.pause()
  // The stream emits it only while it flows. If this event comes late from an older `resume`, the stream has stopped
  // already, but the server has just started to read.
  this.emit('pause')
}
