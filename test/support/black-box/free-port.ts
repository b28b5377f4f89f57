import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

// Below those that the system gives to connections and to listeners on any port: one of those could be gone before its
// service listens on it, or while it is down.
const FIRST_PORT = 10_000
const BLOCKS = 300
// Each process of a test run takes its ports from a block of its own, for the same reason.
const PORTS_OF_BLOCK = 64
// The first process of each namespace of processes, such as those in which power is cut, has the id 1.
const BLOCK = (process.pid + namespaceOfProcesses()) % BLOCKS

let taken = 0

/** An unused port. Chosen by us and kept over restarts, so that clients simply come back. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_BLOCK; tries += 1) {
    const port = FIRST_PORT + BLOCK * PORTS_OF_BLOCK + (taken++ % PORTS_OF_BLOCK)
    if (await isFree(port)) return port
  }
  throw new Error(`All ${PORTS_OF_BLOCK} ports that this process may take are in use`)
}

/** Its number; 0 on systems without. */
function namespaceOfProcesses(): number {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? 0)
  } catch {
    return 0
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
