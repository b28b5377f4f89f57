import { Refusal } from '../../core/refusals.ts'
import { formatDuration, parseDurationMs } from '../../format/durations.ts'

/** How one sandbox connection behaves. */
interface SandboxSettings {
  /** How long each delivery takes, in milliseconds. */
  readonly latencyMs: number
  /** When the receipts come after the delivery, in milliseconds; null: never. */
  readonly deliveredAfterMs: number | null
  readonly readAfterMs: number | null
}

const LONGEST_LATENCY_MS = 20_000
const LONGEST_RECEIPT_MS = 24 * 3_600_000

/** Names of settings, and what each is stored as and may be at most. */
export const SANDBOX_KEYS = {
  latency: ['latencyMs', LONGEST_LATENCY_MS],
  delivered_after: ['deliveredAfterMs', LONGEST_RECEIPT_MS],
  read_after: ['readAfterMs', LONGEST_RECEIPT_MS],
} as const

/** Reads `latency=200ms`, `delivered_after=1s`, `read_after=3s`; `never` takes a receipt back. Refuses anything else. */
export function parseSandboxSettings(given: Readonly<Record<string, string>>): Partial<SandboxSettings> {
  const settings: Record<string, number | null> = {}
  for (const [key, text] of Object.entries(given)) {
    if (!Object.hasOwn(SANDBOX_KEYS, key)) {
      throw new Refusal(
        'setting_invalid',
        `The sandbox has no setting ${key}. It has: ${Object.keys(SANDBOX_KEYS).join(', ')}.`,
        key,
      )
    }
    const [name, mostMs] = SANDBOX_KEYS[key as keyof typeof SANDBOX_KEYS]
    settings[name] = parseTime(key, text, mostMs)
  }
  return settings
}

function parseTime(key: string, text: string, mostMs: number): number | null {
  if (text === 'never' && key !== 'latency') return null
  const ms = parseDurationMs(text)
  if (ms === null || ms > mostMs) {
    throw new Refusal(
      'setting_invalid',
      `${key} must be a time such as 200ms or 3s, at most ${formatDuration(mostMs)}; "${text}" is not.`,
      key,
    )
  }
  return ms
}

/** Stored settings with what they leave out. */
export function readSandboxSettings(stored: Readonly<Record<string, unknown>>): SandboxSettings {
  return {
    latencyMs: timeOr(stored['latencyMs'], 0) ?? 0,
    deliveredAfterMs: timeOr(stored['deliveredAfterMs'], null),
    readAfterMs: timeOr(stored['readAfterMs'], null),
  }
}

function timeOr(value: unknown, fallback: number | null): number | null {
  return typeof value === 'number' ? value : fallback
}
