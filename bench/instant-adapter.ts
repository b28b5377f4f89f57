import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keyOf, sign } from '../src/channels/bridge/signing.ts'
import { ADAPTER_SECRET, HANGING_PATH } from './adapter-address.ts'
import { answerParent } from './child.ts'
import { machineMs } from './machine-clock.ts'

const KEYS = [keyOf(ADAPTER_SECRET) ?? Buffer.alloc(0)]
const HEALTH = {
  ...{ type: 'health', versions: [1], adapter: 'bench', gateway: 'none', logSince: 1, ready: true, senders: null },
  capabilities: { types: ['message'], maxTextLength: null, receipts: [], evidence: false },
}

let server: Server | null = null
let taken = 0
let hanging = 0
let onAttempt: (() => void) | null = null

/** Stores nothing on a disk, so that only Nuncio's side and the signatures are measured. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const path = request.url ?? ''
    const isAttempt = request.method === 'POST'
    if (isAttempt && path.startsWith(HANGING_PATH)) {
      hanging += 1
      return
    }
    const id = String(request.headers['webhook-id'])
    const value = path.endsWith('/health') ? { ...HEALTH, now: Date.now() } : said(isAttempt, path, id)
    const body = JSON.stringify(value)
    const signed = sign(KEYS, { id, timestamp: Math.floor(Date.now() / 1_000), content: body })
    response.writeHead(200, { ...signed, 'content-length': Buffer.byteLength(body) }).end(body)
    if (!isAttempt) return
    taken += 1
    onAttempt?.()
  })
}

function said(isAttempt: boolean, path: string, id: string) {
  const attemptId = isAttempt ? id.slice('att_'.length) : (/attempts\/([^?]+)/.exec(path)?.[1] ?? '')
  if (isAttempt) return { type: 'outcome', attemptId, result: 'accepted', networkId: `bench:${attemptId}` }
  const state = path.startsWith(HANGING_PATH) ? 'pending' : 'accepted'
  return { type: 'evidence', attemptId, state, networkId: `bench:${attemptId}`, logSince: 1 }
}

const calls = {
  /** Returns its port. */
  async listen({ port }: { readonly port: number }) {
    const listening = createServer(answer)
    server = listening
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve))
    return (listening.address() as AddressInfo).port
  },
  /** Closes like a process that ends: open calls get no answer. */
  async close() {
    const closing = server
    closing?.closeAllConnections()
    await new Promise<void>((resolve) => (closing ? closing.close(() => resolve()) : resolve()))
  },
  /** Listens again. Returns how many milliseconds later the first attempt came. */
  async reopen(given: { readonly port: number }) {
    const { promise, resolve } = Promise.withResolvers<void>()
    onAttempt = resolve
    await calls.listen(given)
    const startedMs = performance.now()
    await promise
    onAttempt = null
    return performance.now() - startedMs
  },
  progress: () => ({ atMs: machineMs(), taken, hanging }),
}
export type AdapterCalls = typeof calls

process.once('SIGTERM', () => process.exit(0))
answerParent(calls)
