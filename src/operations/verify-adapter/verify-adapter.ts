import { randomUUID } from 'node:crypto'
import { type AdapterHealth, parseHealth, VERSION } from '../../channels/bridge/protocol.ts'
import { keyOf } from '../../channels/bridge/signing.ts'
import { Refusal } from '../../core/refusals.ts'
import { type AdapterCase, type CaseResult, runCases } from './adapter-case.ts'
import { AdapterUnderTest, quoted } from './adapter-under-test.ts'
import { gatewayCases } from './gateway-cases.ts'
import { GatewayProxy } from './gateway-proxy.ts'
import { requestCases } from './request-cases.ts'
import { sendingCases } from './sending-cases.ts'
import { ReceiptTaker, tryReceipts } from './try-receipts.ts'

export interface VerifyAdapterRequest {
  /** The URL of the adapter. */
  readonly url: string
  /** Separated by white space, the current one first. */
  readonly secrets: string
  /** The recipient of messages of the test; null: nothing is sent. */
  readonly to: string | null
  /** Null: the first number that the adapter names. */
  readonly from: string | null
  /** `HOST:PORT` at which receipts are taken; null: none are asked for. */
  readonly receipts: string | null
  /** `HOST:PORT=URL`: a proxy at HOST:PORT passes calls on to the gateway at URL and disturbs them; null: no proxy. */
  readonly proxy: string | null
  /** Restarts the adapter, and resolves once it runs again; null: it is not restarted. */
  readonly restart: (() => Promise<void>) | null
}

const MOST_SKEW_MS = 60_000

/** Tries what the protocol demands of an adapter, one promise after the other. */
export async function* verifyAdapter(request: VerifyAdapterRequest): AsyncIterable<CaseResult> {
  const adapter = new AdapterUnderTest({ url: urlOf(request.url), keys: keysOf(request.secrets) })
  // Before the first message: a wrong address is refused while nothing was sent.
  const taker = request.receipts === null ? null : await ReceiptTaker.open(adapter, request.receipts)
  let proxy: GatewayProxy | null = null
  try {
    // From the first question on: the adapter may find its gateway only there.
    if (request.proxy !== null) proxy = await GatewayProxy.open(request.proxy, request.to ?? '')
    yield* tried(adapter, request, { proxy, taker })
  } finally {
    await proxy?.close()
    await taker?.close()
  }
}

async function* tried(
  adapter: AdapterUnderTest,
  { to, from, restart }: VerifyAdapterRequest,
  { proxy, taker }: { readonly proxy: GatewayProxy | null; readonly taker: ReceiptTaker | null },
): AsyncIterable<CaseResult> {
  const health = await readHealth(adapter)
  yield { title: 'describes itself at GET /health, and signs it', problem: typeof health === 'string' ? health : null }
  if (typeof health === 'string') return
  const sender = from ?? health.senders?.[0]
  if (to !== null && sender === undefined)
    throw wrong('The adapter does not name the numbers that it sends from. Give one of them with --from.')
  if (sender !== undefined) adapter.sender = sender
  yield* runCases(healthCases(health))
  yield* runCases(requestCases(adapter, { health, restart }))
  if (to === null) return
  yield* runCases(sendingCases(adapter, { health, to, restart, proxy }))
  if (proxy) yield* runCases(gatewayCases(adapter, { proxy, to }))
  if (taker) yield* tryReceipts(adapter, to, taker)
}

async function readHealth(adapter: AdapterUnderTest): Promise<AdapterHealth | string> {
  const answer = await adapter.signed({ method: 'GET', path: '/health', id: `hea_${randomUUID()}` })
  if ('problem' in answer) return answer.problem
  return parseHealth(answer.value) ?? `It describes itself otherwise than in version 1: ${quoted(answer.value)}`
}

function healthCases({ versions, isReady, words, now }: AdapterHealth): readonly AdapterCase[] {
  const skewMs = Math.abs(now - Date.now())
  return [
    {
      title: `speaks version ${VERSION}`,
      run: async () => (versions.includes(VERSION) ? null : `It speaks version ${versions.join(', ') || 'none'}.`),
    },
    {
      title: 'has a gateway that is ready',
      run: async () => (isReady ? null : `It is not: ${words ?? 'it does not say why'}.`.replace('..', '.')),
    },
    {
      title: 'has the same time as this machine',
      run: async () => (skewMs <= MOST_SKEW_MS ? null : `The clocks differ by ${Math.round(skewMs / 1_000)} seconds.`),
    },
  ]
}

function urlOf(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw wrong('The address of the adapter is a URL, such as http://127.0.0.1:7900.')
  return text.replace(/\/+$/, '')
}

function keysOf(text: string): readonly Uint8Array[] {
  const keys = text.trim().split(/\s+/).map(keyOf)
  const known = keys.filter((key) => key !== null)
  if (known.length < keys.length)
    throw wrong('The file of --secret-file must hold whsec_ and 24 to 64 bytes in base64 behind it.')
  return known
}

function wrong(sentence: string): Refusal {
  return new Refusal('argument_invalid', sentence)
}
