import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

// Below the ports that the system hands out by itself. It could take one of those before the service listens on it, or while the
// service is down.
const FIRST_PORT = 10_000
const BLOCKS = 300
// For the same reason each process of a test run uses its own block of ports.
const PORTS_OF_BLOCK = 64
// The id alone is not enough: the first process of each process namespace has id 1. Runs that cut the power have their own
// namespace.
const BLOCK = (process.pid + namespaceOfProcesses()) % BLOCKS

let taken = 0

/** An unused port. It is chosen here and kept over restarts, so that clients can simply reconnect. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_OF_BLOCK; tries += 1) {
    const port = FIRST_PORT + BLOCK * PORTS_OF_BLOCK + (taken++ % PORTS_OF_BLOCK)
    if (await isFree(port)) return port
  }
  throw new Error(`All ${PORTS_OF_BLOCK} ports that this process may take are in use`)
}

/** The number of the process namespace; 0 on systems without one. */
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
