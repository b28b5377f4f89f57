import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { keyOf } from '../../../src/channels/bridge/signing.ts'
import { AdapterUnderTest } from '../../../src/operations/verify-adapter/adapter-under-test.ts'
import { findFreePort } from '../black-box/free-port.ts'
import { DIALECTS, FakeMessenger, KEY, NUMBER, WEBHOOK_KEY } from './fake-messengers.ts'
import { AdapterProcess } from './run-adapter.ts'
import { newSecret, ScriptedAdapter } from './scripted-adapter.ts'

export const TO = '15551230001'
export type MessengerName = keyof typeof DIALECTS

type Fields = Readonly<Record<string, unknown>>

interface Wanted {
  /** A proxy of the test stands between adapter and gateway. */
  readonly isBetween?: boolean
  readonly webhookKey?: string
  readonly mostFileBytes?: number
  readonly mostHeapMb?: number
}

/** The adapter of a messenger as a process, in front of a simulated gateway. */
export async function openWorld(
  name: MessengerName,
  { isBetween = false, webhookKey = WEBHOOK_KEY, mostFileBytes, mostHeapMb }: Wanted = {},
) {
  const folder = mkdtempSync(join(tmpdir(), `nuncio-${name}-`))
  const fileWith = (file: string, text: string) => {
    writeFileSync(join(folder, file), `${text}\n`)
    return join(folder, file)
  }
  const secret = newSecret()
  const gateway = await FakeMessenger.start(DIALECTS[name])
  const between = `127.0.0.1:${await findFreePort()}`
  const given = DIALECTS[name].given({ key: fileWith('key', KEY), webhook: fileWith('webhook', webhookKey) })
  const settings = {
    program: [`adapters/${name}.mjs`],
    secretFile: fileWith('secret', secret),
    log: join(folder, 'log'),
    mostFileBytes,
    mostHeapMb,
    arguments: ['--gateway', isBetween ? `http://${between}` : gateway.url, ...given],
  } as const
  const process = await AdapterProcess.create(settings)
  await process.start()
  gateway.webhook = process.origin
  const adapter = new AdapterUnderTest({ url: process.origin, keys: [keyOf(secret) ?? Buffer.alloc(0)] })
  adapter.sender = NUMBER
  const closing: (() => Promise<void>)[] = []
  return {
    gateway,
    adapter,
    process,
    log: join(folder, 'log'),
    secret,
    url: process.origin,
    proxy: `${between}=${gateway.url}`,
    async attempt(special: Fields): Promise<Fields> {
      const attempted = await adapter.attempt(adapter.fieldsOf({ to: TO, ...special }))
      if ('problem' in attempted) throw new Error(attempted.problem)
      return { ...attempted.outcome }
    },
    /** The adapter's evidence about an attempt that began now. */
    async evidenceOf(attemptId: string): Promise<Fields> {
      const answer = await adapter.evidence(attemptId, Date.now())
      if ('problem' in answer) throw new Error(answer.problem)
      return answer.value as Fields
    },
    /** Starts a second adapter on the same log. */
    startAnother: async () => (await AdapterProcess.create(settings)).start(),
    async health(): Promise<Fields> {
      const answer = await adapter.signed({ method: 'GET', path: '/health', id: `hea_${crypto.randomUUID()}` })
      if ('problem' in answer) throw new Error(answer.problem)
      return answer.value as Fields
    },
    /** `isSigned`: refusals are signed, as Nuncio's own are. */
    async takeReceipts(refusals?: readonly number[], isSigned = false) {
      const receiver = await takeReceipts(secret, refusals, isSigned)
      closing.push(receiver.close)
      return receiver
    },
    restart: async () => {
      await process.kill()
      await process.start()
    },
    async [Symbol.asyncDispose]() {
      await process.kill()
      await gateway.close()
      for (const close of closing) await close()
      rmSync(folder, { recursive: true })
    },
  }
}

/**
 * Answers with `refusals` first, then stores receipts as Nuncio does. Refusals are unsigned, as from a proxy, unless `isSigned`.
 */
async function takeReceipts(secret: string, refusals: readonly number[] = [], isSigned = false) {
  const receipts: Fields[] = []
  const batches: { readonly receipts: number; readonly bytes: number }[] = []
  const left = [...refusals]
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const id = String(request.headers['webhook-id'])
      const refusal = left.shift()
      if (refusal !== undefined) {
        const signed = ScriptedAdapter.signedBy(secret, id, 'it cannot be read')
        response.writeHead(refusal, isSigned ? signed.headers : {}).end(isSigned ? signed.body : '')
        return
      }
      const batch = (JSON.parse(body.toString()) as { receipts: Fields[] }).receipts
      receipts.push(...batch)
      batches.push({ receipts: batch.length, bytes: body.length })
      const answer = ScriptedAdapter.signedBy(secret, id, { type: 'stored', stored: 1, ignored: [] })
      response.writeHead(200, answer.headers).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    receipts,
    batches,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/receipts`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
