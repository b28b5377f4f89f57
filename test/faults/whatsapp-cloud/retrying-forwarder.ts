import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

const TRIES = 5

/**
 * Stands between the service and the network and does what the channel must never do: it repeats a call that got no answer. This
 * shows that a run would notice it. Returns its URL.
 */
export async function openRetryingForwarder(target: string): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, text } = await forward(target, request)
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function forward(target: string, request: IncomingMessage): Promise<{ status: number; text: string }> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { method = 'GET', url = '/', headers } = request
  for (let left = TRIES; left > 0; left -= 1) {
    try {
      const response = await fetch(target + url, {
        method,
        headers: {
          authorization: headers.authorization ?? '',
          'content-type': headers['content-type'] ?? 'application/json',
        },
        ...(method === 'POST' ? { body: new Uint8Array(Buffer.concat(parts)) } : {}),
      })
      return { status: response.status, text: await response.text() }
    } catch {
      // The answer was cut off, so the call is repeated.
    }
  }
  return { status: 503, text: '' }
}
