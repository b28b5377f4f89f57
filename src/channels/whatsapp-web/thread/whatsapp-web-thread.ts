import { parentPort, workerData } from 'node:worker_threads'
import { type CallMessage, Calls } from './calls.ts'
import { type Library, loadLibrary } from './library.ts'
import { LinkedSocket } from './linked-socket.ts'
import type { HostMethods, ThreadData, ThreadMethods } from './messages.ts'
import type { HostCalls } from './stored-state.ts'

/** The sockets of one process. The library runs in a thread of its own: an error that it leaves unhandled ends only that. */
function serve(port: NonNullable<typeof parentPort>, library: Library): void {
  const sockets = new Map<number, LinkedSocket>()
  const socketOf = (id: number): LinkedSocket => {
    const socket = sockets.get(id)
    if (!socket) throw new Error('this socket is closed')
    return socket
  }
  const methods: ThreadMethods = {
    open(id, options, until) {
      sockets.set(id, new LinkedSocket({ library, host, id, options, onClosed: () => sockets.delete(id) }, until))
    },
    renew(ids, until) {
      for (const id of ids) sockets.get(id)?.renew(until)
    },
    async close(id, how) {
      return (await sockets.get(id)?.close(how)) ?? false
    },
    find: (id, number) => socketOf(id).find(number),
    mediaHosts: (id, isFresh) => socketOf(id).mediaHosts(isFresh),
    contactLock: (id) => socketOf(id).contactLock(),
    show: (id, shown) => socketOf(id).show(shown),
    relay: (id, order) => socketOf(id).relay(order),
    cancel: (id) => sockets.get(id)?.cancelRelay(),
  }
  const host: HostCalls = new Calls<HostMethods, ThreadMethods>(methods, (message) => port.postMessage(message))
  port.on('message', (message: CallMessage) => host.receive(message))
}

if (parentPort) {
  // No stack is read anywhere, since an error leaves the thread as its message alone. And there are many: Node makes two inside of
  // each HMAC and cipher, and the library one for each query that is answered.
  Error.stackTraceLimit = 0
  const { folder, rootKey } = workerData as ThreadData
  const library = await loadLibrary(folder)
  if (rootKey !== null) library.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(rootKey, 'base64')
  serve(parentPort, library)
}
