import { onTestFinished } from 'vitest'
import { tinyPng } from '../journey/serve-files.ts'
import { startSimulator } from './simulator.ts'
import type { SimulatedNumber, Simulator, SimulatorOptions } from './simulator-types.ts'

export const NUMBER: SimulatedNumber = {
  phoneNumberId: '106540352242922',
  businessAccountId: '102290129340398',
  number: '15550001000',
  accessToken: 'EAAG-simulated-access-token',
  appSecret: '0123456789abcdef0123456789abcdef',
  verifyToken: 'simulated-verify-token',
}

export const PNG = tinyPng()

export interface World {
  readonly simulator: Simulator
  /** The simulator's clock. Tests move it by hand. */
  readonly clock: { ms: number }
}

/** Starts a simulator with one number, for one test. */
export async function openSimulator(options: SimulatorOptions = {}): Promise<World> {
  const clock = { ms: Date.UTC(2026, 10, 21, 12) }
  const simulator = await startSimulator({ now: () => clock.ms, ...options })
  onTestFinished(() => simulator.close())
  simulator.addNumber(NUMBER)
  return { simulator, clock }
}

interface GraphReply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>> & {
    readonly id?: string
    readonly error?: {
      readonly code: number
      readonly type: string
      readonly error_subcode?: number
      readonly fbtrace_id?: string
    }
  }
}

interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly token?: string | null
}

export async function callGraph(url: string, path: string, call: Call = {}): Promise<GraphReply> {
  const { body, token = NUMBER.accessToken, method = body === undefined ? 'GET' : 'POST' } = call
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as GraphReply['body'] }
}

export async function uploadTo(
  url: string,
  phoneNumberId: string,
  { bytes, mime }: { readonly bytes: Buffer; readonly mime: string },
): Promise<GraphReply> {
  const body = new FormData()
  body.set('messaging_product', 'whatsapp')
  body.set('type', mime)
  body.set('file', new Blob([new Uint8Array(bytes)], { type: mime }), 'file.bin')
  const headers = { authorization: `Bearer ${NUMBER.accessToken}` }
  const response = await fetch(`${url}/v26.0/${phoneNumberId}/media`, { method: 'POST', headers, body })
  return { status: response.status, body: (await response.json()) as GraphReply['body'] }
}

export function textTo(to: string, body = 'Hello') {
  return { messaging_product: 'whatsapp', recipient_type: 'individual', to, type: 'text', text: { body } }
}
