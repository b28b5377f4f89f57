import { parentPort, workerData } from 'node:worker_threads'
import type { StorageError } from '../../../core/ports/lanes.ts'
import { type FromThread, packError, type ToThread, withBuffers } from './console-messages.ts'
import { openConsoleDatabase } from './open-console-database.ts'

/**
 * The thread in which the console reads. It opens the database as the command line does, beside the service, so a long
 * query of the log never blocks the thread that accepts.
 */
const port = parentPort
if (!port) throw new Error('This file is the body of a worker thread')

function send(message: FromThread): void {
  port?.postMessage(message)
}

try {
  const { path } = workerData as { readonly path: string }
  const onError = (error: unknown) => send({ kind: 'error', thrown: packError(error) })
  let storageError: StorageError | null = null
  const { store, close } = openConsoleDatabase(path, { findError: () => storageError, onError })
  const open = new Set<Promise<void>>()

  port.on('message', (message: ToThread) => {
    if (message.kind === 'close') {
      void Promise.allSettled(open)
        .then(close)
        .finally(() => port.close())
      return
    }
    storageError = message.error
    const answered = answer(message).finally(() => open.delete(answered))
    open.add(answered)
  })

  async function answer({ call, area, verb, args }: Extract<ToThread, { kind: 'call' }>): Promise<void> {
    try {
      const verbs = store[area] as unknown as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>
      if (!Object.hasOwn(verbs, verb)) throw new Error(`The console's store knows no ${area}.${verb}`)
      send({ kind: 'value', call, value: await verbs[verb]?.(...(withBuffers(args) as unknown[])) })
    } catch (error) {
      send({ kind: 'thrown', call, thrown: packError(error) })
    }
  }
} catch (error) {
  send({ kind: 'thrown', call: null, thrown: packError(error) })
}
