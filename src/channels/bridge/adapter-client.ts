import { randomUUID } from 'node:crypto'
import { secretPlaceOf } from '../../core/connection/secret-place.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { FileBody, GuardedCall } from '../../core/ports/guarded-call.ts'
import type { BridgeOperation, JournalEvent } from '../../core/ports/journal.ts'
import { type Secrets, SecretUnreadable } from '../../core/ports/secrets.ts'
import { type AdapterHealth, MOST_ANSWER_BYTES, parseHealth, parseJson } from './protocol.ts'
import { readBridgeSettings, SECRET_KEYS, type StoredSettings } from './settings.ts'
import { keyOf, sign, verifySigned } from './signing.ts'

/** An adapter, and what proves that it is the one of a connection. */
export interface Adapter {
  readonly url: string
  /** The current one first. */
  readonly keys: readonly Uint8Array[]
  /** Texts that must not be shown, also where the adapter repeats them. */
  readonly hidden: readonly string[]
}

/** The connection that a request is for. */
export interface AskedConnection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  readonly settings: StoredSettings
}

interface AdapterRequest {
  readonly operation: BridgeOperation
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Behind the URL of the adapter. */
  readonly path: string
  readonly id: string
  readonly body: string | FileBody | null
  /** What the signature covers in place of a file. */
  readonly signed?: string
  readonly timeoutMs: number
}

/**
 * How a request ended. Only `signed` counts: the body is the adapter's. `not-sent` is certain. `unsigned`: the answer was not
 * from the adapter, or was to another request. `broken`: no complete answer came.
 */
export type AdapterEnd =
  | { readonly kind: 'signed'; readonly value: unknown }
  | { readonly kind: 'not-sent'; readonly code: 'interrupted' | 'blocked' | 'network'; readonly words: string }
  | { readonly kind: 'unsigned' | 'broken'; readonly words: string }

interface Limits {
  readonly signal: AbortSignal
  readonly mayBegin?: () => boolean
}

// One sentence for every such answer, without status and text: an account must not learn what listens on other ports of a machine.
const UNSIGNED =
  'Something else than the adapter answered, or it has another secret or a clock that differs by 5 minutes.'
const HEALTH_MS = 10_000

/** Opens what is stored of a connection; null when its secret is missing or cannot be decrypted. */
export function openAdapter({ id, accountId, settings }: AskedConnection, secrets: Secrets): Adapter | null {
  const stored = readBridgeSettings(settings)
  const texts = SECRET_KEYS.flatMap((name) => {
    const text = stored[name]
    if (text === null) return []
    return secrets.isSealed(text) ? (openOrNull(secrets, text, { id, accountId, name }) ?? []) : text
  })
  const keys = texts.flatMap((text) => keyOf(text) ?? [])
  if (stored.url === '' || stored.secret === null || keys.length === 0) return null
  return { url: stored.url, keys, hidden: hiddenOf(texts) }
}

function openOrNull(
  secrets: Secrets,
  sealed: string,
  { name, ...owner }: { readonly id: ConnectionId; readonly accountId: AccountId; readonly name: string },
): string | null {
  try {
    return secrets.open(sealed, secretPlaceOf(owner, name))
  } catch (error) {
    if (error instanceof SecretUnreadable) return null
    throw error
  }
}

/** A secret in both of its spellings. */
export function hiddenOf(secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((text) => [text, text.slice('whsec_'.length)])
}

/** Words of an adapter without the secrets of its connection. */
export function withoutSecrets(words: string | null, { hidden }: Pick<Adapter, 'hidden'>): string | null {
  return words && hidden.reduce((text, secret) => text.replaceAll(secret, '…'), words)
}

interface AdapterClientParts {
  readonly guarded: GuardedCall
  readonly clock: Clock
  readonly note?: (event: JournalEvent) => void
}

/** Signs what is sent to adapters, and believes only what they signed. */
export class AdapterClient {
  readonly #parts: AdapterClientParts

  constructor(parts: AdapterClientParts) {
    this.#parts = parts
  }

  /** One request, never repeated. Never throws. */
  async call(adapter: Adapter, request: AdapterRequest, limits: Limits): Promise<AdapterEnd> {
    const { clock, note } = this.#parts
    const began = clock.monotonic()
    // The call may have failed after the first byte, so the result of the request is unknown.
    const end = await this.#call(adapter, request, limits).catch(
      (): AdapterEnd => ({ kind: 'broken', words: 'The call failed.' }),
    )
    note?.({
      event: 'bridge.called',
      operation: request.operation,
      result: end.kind,
      tookMs: Math.round(clock.monotonic() - began),
    })
    return end
  }

  /** Asks the adapter what it can do and whether it is ready. */
  async health(
    adapter: Adapter,
    signal: AbortSignal,
  ): Promise<AdapterHealth | Exclude<AdapterEnd, { kind: 'signed' }>> {
    const end = await this.call(
      adapter,
      {
        operation: 'health',
        method: 'GET',
        path: '/health',
        id: `hea_${randomUUID()}`,
        body: null,
        timeoutMs: HEALTH_MS,
      },
      { signal },
    )
    if (end.kind !== 'signed') return end
    return (
      parseHealth(end.value) ?? {
        kind: 'unsigned',
        words: 'The adapter describes itself in a way that is not of version 1.',
      }
    )
  }

  async #call({ url, keys }: Adapter, request: AdapterRequest, limits: Limits): Promise<AdapterEnd> {
    const { guarded, clock } = this.#parts
    const { method, path, id, body, signed = typeof body === 'string' ? body : '', timeoutMs } = request
    const timestamp = Math.floor(clock.now() / 1_000)
    const type =
      body === null
        ? {}
        : { 'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' }
    const end = await guarded.call(
      {
        method,
        url: url + path,
        headers: { ...type, ...sign(keys, { id, timestamp, content: signed }) },
        body,
        timeoutMs,
        mostAnswerBytes: MOST_ANSWER_BYTES,
      },
      limits,
    )
    if (end.kind === 'not-sent') {
      const code = end.code === 'interrupted' || end.code === 'blocked' ? end.code : 'network'
      return { kind: 'not-sent', code, words: inWords(end.words) }
    }
    if (end.kind === 'unknown') return { kind: 'broken', words: inWords(end.words) }
    const received = { header: (name: string) => end.header(name), content: end.body, now: clock.now() }
    if (end.status !== 200 || verifySigned(keys, received) !== id) return { kind: 'unsigned', words: UNSIGNED }
    const value = parseJson(end.body)
    return value === undefined
      ? { kind: 'unsigned', words: 'The answer of the adapter is no JSON.' }
      : { kind: 'signed', value }
  }
}

function inWords(words: string): string {
  return words.replaceAll('media host', 'adapter')
}
