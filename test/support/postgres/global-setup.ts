import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestProject } from 'vitest/node'
import { SharedServer } from './shared-server.ts'
import type { Door } from './test-database.ts'

/**
 * Runs once, in the runner's main process, and opens a port at which workers ask for the shared server. The server starts at the
 * first request, so a run without tests on PostgreSQL does not start one.
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const shared = new SharedServer()
  const secret = randomUUID()
  const server = createServer((socket) => void answer(socket, shared, secret))
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  provide('postgresDoor', { port: (server.address() as AddressInfo).port, secret })
  return async () => {
    server.close()
    await shared.stop()
  }
}

// Needs the secret: every user of this machine can connect to the port, and the reply holds a superuser's password.
async function answer(socket: Socket, shared: SharedServer, secret: string): Promise<void> {
  socket.on('error', () => {})
  const [said] = (await once(socket, 'data').catch(() => [])) as [Buffer?]
  if (said?.toString() !== secret) return void socket.destroy()
  const reply = await shared.access().catch((error: unknown) => ({
    failure: error instanceof Error ? error.message : String(error),
  }))
  socket.end(JSON.stringify(reply))
}

declare module 'vitest' {
  interface ProvidedContext {
    postgresDoor: Door
  }
}
