import cluster from 'node:cluster'
import { type FromChild, restoreFailure, type ServeOrder, type ToChild } from './child-messages.ts'
import type { MetricsRelay } from './metrics-relay.ts'
import type { Child, ChildEvents } from './process-group.ts'

/**
 * Starts one process that shares our port. `setUp` of `node:cluster` decides which file it runs; that file calls
 * `serveAsChild`.
 */
export function startChild(order: Omit<ServeOrder, 'say'>, relay: MetricsRelay, events: ChildEvents): Child {
  const { number } = order
  const child = cluster.fork()
  let hasExited: string | null = null
  let isEnded = false
  const end = (how: string) => {
    if (isEnded) return
    isEnded = true
    relay.leave(number)
    events.ended(how)
  }
  // A child that is already gone gets no message; its end is noticed anyway.
  const send = (message: ToChild) => void child.send(message, () => {})
  // What it said last may be read only after its end was seen: then its channel is still open.
  child.once('exit', (code, signal) => {
    hasExited = signal ?? `exit code ${code}`
    if (!child.isConnected()) end(hasExited)
  })
  child.once('disconnect', () => {
    if (hasExited !== null) end(hasExited)
  })
  child.on('error', (error) => {
    if (child.process.pid === undefined) end(error.message)
  })
  child.on('message', (message: FromChild) => {
    switch (message.say) {
      case 'serving':
        relay.join(number, send)
        events.serving(message.url)
        break
      case 'failed':
        events.failed(restoreFailure(message))
        break
      default:
        relay.hear(number, message)
        break
    }
  })
  send({ say: 'serve', ...order })
  return {
    stop: () => {
      if (child.isConnected()) send({ say: 'stop' })
    },
    kill: () => void child.process.kill('SIGKILL'),
  }
}
