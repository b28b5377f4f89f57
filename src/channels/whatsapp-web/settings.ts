import { Refusal } from '../../core/refusals.ts'

export type StoredSettings = Readonly<Record<string, unknown>>

/** The settings of one connection, with what they leave out. */
export interface WhatsAppWebSettings {
  /** How many people it may write to for the first time within 24 hours; null: as many as come. */
  readonly newRecipientsPerDay: number | null
  /** Whether a person sees that something is typed before a text comes. */
  readonly typing: boolean
  /** Whether the number is shown as online while it sends. */
  readonly presence: boolean
}

/** The setting `new_recipients_per_day`. */
export const NEW_RECIPIENTS = { unset: 30, most: 1_000, off: 'off' } as const

type Read = (name: string, text: string) => unknown

/** Names of settings as people write them: what each is stored as, how it is read, and how it is written. */
const READERS: Readonly<Record<string, readonly [key: string, read: Read, write: (value: unknown) => string]>> = {
  new_recipients_per_day: ['newRecipientsPerDay', readAllowance, writeAllowance],
  typing: ['typing', readSwitch, writeSwitch],
  presence: ['presence', readSwitch, writeSwitch],
}

/** Reads text pairs from the CLI or a form. Only what is given is returned. Refuses anything else than the settings there are. */
export function parseWhatsAppWebSettings(given: Readonly<Record<string, string>>): StoredSettings {
  const settings: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(given)) {
    const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined
    if (!reader) throw wrong(name, `WhatsApp Web has no setting ${name}. It has: ${Object.keys(READERS).join(', ')}.`)
    const [key, read] = reader
    settings[key] = read(name, text.trim())
  }
  return settings
}

/** Stored settings as the texts that `parseWhatsAppWebSettings` reads back as the same. */
export function writeWhatsAppWebSettings(stored: StoredSettings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(READERS).flatMap(([name, [key, , write]]) =>
      stored[key] === undefined ? [] : [[name, write(stored[key])]],
    ),
  )
}

export function readWhatsAppWebSettings(stored: StoredSettings): WhatsAppWebSettings {
  const { newRecipientsPerDay: allowed, typing, presence } = stored
  return {
    newRecipientsPerDay: typeof allowed === 'number' || allowed === null ? allowed : NEW_RECIPIENTS.unset,
    typing: typing === true,
    presence: presence === true,
  }
}

function readAllowance(name: string, text: string): number | null {
  if (text === NEW_RECIPIENTS.off) return null
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= NEW_RECIPIENTS.most) return Number(text)
  throw wrong(name, `${name} must be a number from 1 to ${NEW_RECIPIENTS.most}, or ${NEW_RECIPIENTS.off} for no limit.`)
}

function writeAllowance(value: unknown): string {
  return typeof value === 'number' ? value.toString() : NEW_RECIPIENTS.off
}

function readSwitch(name: string, text: string): boolean {
  if (text === 'on') return true
  if (text === 'off') return false
  throw wrong(name, `${name} must be on or off.`)
}

function writeSwitch(value: unknown): string {
  return value === true ? 'on' : 'off'
}

function wrong(name: string, sentence: string): Refusal {
  return new Refusal('setting_invalid', sentence, name)
}
