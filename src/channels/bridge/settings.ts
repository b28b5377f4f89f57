import { type AdapterCapabilities, storedCapabilities } from '../../core/connection/adapter-capabilities.ts'
import { parseWebUrl } from '../../core/media-address/check-url.ts'
import { Refusal } from '../../core/refusals.ts'
import { hasSealedForm } from '../../core/sealed-form.ts'
import { formatDuration, parseDurationMs } from '../../format/durations.ts'
import { keyOf } from './signing.ts'

export type StoredSettings = Readonly<Record<string, unknown>>

/** The settings of one connection, as they are stored: secrets sealed. */
export interface BridgeSettings {
  /** Without a slash at the end. */
  readonly url: string
  /** Null once the connection is removed. */
  readonly secret: string | null
  /** The secret before the last change; null when there is none. */
  readonly oldSecret: string | null
  readonly sendTimeoutMs: number
  readonly evidenceWaitMs: number
  /** What the adapter said, when the connection was checked, that it can do. Null: it was not asked. */
  readonly capabilities: AdapterCapabilities | null
}

/** The stored names of the secrets; each is its own place under the connection (core/ports/secrets.ts). */
export const SECRET_KEYS = ['secret', 'oldSecret'] as const

/** Milliseconds, as `EVIDENCE_WAIT`. */
export const SEND_TIMEOUT = { unset: 30_000, least: 5_000, most: 120_000 }
export const EVIDENCE_WAIT = { unset: 60_000, least: 0, most: 600_000 }
const MOST_PATH = 200

type Read = (name: string, text: string) => unknown

/** Names of settings as people write them: what each is stored as, how it is read, and how it is written. */
const READERS: Readonly<Record<string, readonly [key: string, read: Read, write?: (value: unknown) => string]>> = {
  url: ['url', readUrl],
  secret: ['secret', readSecret],
  old_secret: ['oldSecret', readSecret],
  send_timeout: ['sendTimeoutMs', durationIn(SEND_TIMEOUT), (ms) => formatDuration(Number(ms))],
  evidence_wait: ['evidenceWaitMs', durationIn(EVIDENCE_WAIT), (ms) => formatDuration(Number(ms))],
}

/** Reads text pairs from the CLI or a form. Only what is given is returned. Refuses anything else than the settings there are. */
export function parseBridgeSettings(given: Readonly<Record<string, string>>): StoredSettings {
  const settings: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(given)) {
    const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined
    if (!reader) throw wrong(name, `Bridge has no setting ${name}. It has: ${Object.keys(READERS).join(', ')}.`)
    const [key, read] = reader
    settings[key] = read(name, text.trim())
  }
  return settings
}

/** Stored settings as the texts that `parseBridgeSettings` reads back as the same. */
export function writeBridgeSettings(stored: StoredSettings): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const [name, [key, , write = String]] of Object.entries(READERS)) {
    const value = stored[key]
    if (value !== undefined && value !== null) texts[name] = write(value)
  }
  return texts
}

/** Stored settings with what they leave out. */
export function readBridgeSettings(stored: StoredSettings): BridgeSettings {
  const { url, secret, oldSecret, sendTimeoutMs, evidenceWaitMs } = stored
  return {
    url: typeof url === 'string' ? url : '',
    secret: typeof secret === 'string' ? secret : null,
    oldSecret: typeof oldSecret === 'string' ? oldSecret : null,
    sendTimeoutMs: typeof sendTimeoutMs === 'number' ? sendTimeoutMs : SEND_TIMEOUT.unset,
    evidenceWaitMs: typeof evidenceWaitMs === 'number' ? evidenceWaitMs : EVIDENCE_WAIT.unset,
    capabilities: storedCapabilities(stored),
  }
}

/** Whether its attempts name an address for receipts. */
export function hasReceipts({ capabilities }: BridgeSettings): boolean {
  return capabilities === null || capabilities.receipts.length > 0
}

// None of these sentences repeats what was given: it may be a secret in the wrong field.
function readUrl(name: string, text: string): string {
  const url = /^https?:\/\/[^/]/i.test(text) ? parseWebUrl(text) : null
  if (!url || url.username || url.password || /[?#@\\\s]/.test(text))
    throw wrong(
      name,
      `${name} must be the address of the adapter, such as https://sms.example.org/adapter: without user name, query and fragment.`,
    )
  const path = text.replace(/^https?:\/\/[^/]*/i, '').replace(/\/+$/, '')
  if (path.length > MOST_PATH || !/^(?:\/[\w.~-]+)*$/.test(path) || /\/\.{1,2}(?:\/|$)/.test(path))
    throw wrong(
      name,
      `The path in ${name} must be plain and at most ${MOST_PATH} characters long: letters, digits and the signs - . _ ~ between single slashes, and no “..”.`,
    )
  return url.origin + path
}

function readSecret(name: string, text: string): string {
  if (hasSealedForm(text) || keyOf(text)) return text
  throw wrong(
    name,
    `${name} must be whsec_ and 24 to 64 bytes in base64 behind it, such as the one that this makes: echo whsec_$(head -c 32 /dev/urandom | base64)`,
  )
}

function durationIn({ least, most }: { readonly least: number; readonly most: number }): Read {
  return (name, text) => {
    const ms = parseDurationMs(text)
    if (ms !== null && ms >= least && ms <= most) return ms
    throw wrong(name, `${name} must be a time from ${formatDuration(least)} to ${formatDuration(most)}, such as 30s.`)
  }
}

function wrong(name: string, sentence: string): Refusal {
  return new Refusal('setting_invalid', sentence, name)
}
