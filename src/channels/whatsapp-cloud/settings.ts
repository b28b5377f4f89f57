import { commandLine } from '../../core/command-line.ts'
import type { MessageType } from '../../core/message/message.ts'
import { Refusal } from '../../core/refusals.ts'
import { hasSealedForm } from '../../core/sealed-form.ts'

/** The newest version of the Graph API when this was written, live until 2028 (Meta's page “Graph API Changelog”). */
export const DEFAULT_GRAPH_VERSION = 'v26.0'
/** What a number may send in a second unless Meta says otherwise (Meta's page “Throughput”). */
export const DEFAULT_THROUGHPUT = 80

/** A template that carries a message when free form is refused. */
export interface NamedTemplate {
  readonly name: string
  /** As Meta writes it, such as `en_US`. */
  readonly language: string
  /** 1: the text goes into it. 0: the template has only the attachment. Null: not proven yet. */
  readonly bodyVariables: 0 | 1 | null
}

/** The kinds of message that a template can carry: Meta has no template with a sound in it. */
export const TEMPLATE_KINDS = ['text', 'image', 'document', 'video'] as const
export type TemplateKind = (typeof TEMPLATE_KINDS)[number]
export type NamedTemplates = { readonly [Kind in TemplateKind]?: NamedTemplate }

/** The settings of one connection, as they are stored: secrets sealed. */
export interface WhatsAppCloudSettings {
  /** Meta's id of the number, not the number itself. */
  readonly phoneNumberId: string
  readonly businessAccountId: string
  /** Null once the connection is removed. */
  readonly accessToken: string | null
  readonly appSecret: string | null
  readonly verifyToken: string | null
  readonly graphVersion: string
  /** Whether a text shows a preview of its first link. */
  readonly linkPreview: boolean
  readonly templates: NamedTemplates
  /** Messages a second, as Meta said when the connection was verified. */
  readonly throughputPerSecond: number
}

export type StoredSettings = Readonly<Record<string, unknown>>

/** The stored names of the secrets; each is its own place under the connection (core/ports/secrets.ts). */
export const SECRET_KEYS = ['accessToken', 'appSecret', 'verifyToken'] as const
export type SecretKey = (typeof SECRET_KEYS)[number]

const LEAST_VERIFY_TOKEN = 8
const LEAST_APP_SECRET = 16
const MOST_SECRET = 1_024

type Read = (name: string, text: string) => unknown

/** Names of settings as people write them: what each is stored as, and how it is read. Templates are read apart. */
const READERS: Readonly<Record<string, readonly [key: string, read: Read]>> = {
  phone_number_id: ['phoneNumberId', readId],
  business_account_id: ['businessAccountId', readId],
  access_token: ['accessToken', readAccessToken],
  app_secret: ['appSecret', readAppSecret],
  verify_token: ['verifyToken', readVerifyToken],
  graph_version: ['graphVersion', readGraphVersion],
  link_preview: ['linkPreview', readSwitch],
}

export const PLAIN_NAMES: readonly (readonly [name: string, key: string])[] = Object.entries(READERS).map(
  ([name, [key]]) => [name, key],
)

const TEMPLATE_NAMES: Readonly<Record<string, TemplateKind>> = {
  template_text: 'text',
  template_image: 'image',
  template_document: 'document',
  template_video: 'video',
}

export function templateSetting(kind: TemplateKind): string {
  return `template_${kind}`
}

/** Which template setting carries messages of this type; null for sounds, which no template can carry. */
export function templateKindOf(type: MessageType): TemplateKind | null {
  if (type === 'message') return 'text'
  return type === 'audio' ? null : type
}

/**
 * Reads text pairs from the CLI or a form. Only what is given is returned, but all templates together, because they are
 * stored as one. An empty template is one that is named no more. Refuses anything else than the settings there are.
 */
export function parseWhatsAppCloudSettings(given: Readonly<Record<string, string>>): StoredSettings {
  const settings: Record<string, unknown> = {}
  const templates: Partial<Record<TemplateKind, NamedTemplate>> = {}
  for (const [name, text] of Object.entries(given)) {
    const kind = own(TEMPLATE_NAMES, name)
    if (kind) {
      settings['templates'] = templates
      const template = readTemplate(name, text.trim())
      if (template) templates[kind] = template
      continue
    }
    const reader = own(READERS, name)
    if (!reader) throw unknownSetting(name)
    const [key, read] = reader
    settings[key] = read(name, text.trim())
  }
  return settings
}

/** Stored settings with what they leave out. */
export function readWhatsAppCloudSettings(stored: StoredSettings): WhatsAppCloudSettings {
  return {
    phoneNumberId: textOr(stored['phoneNumberId'], ''),
    businessAccountId: textOr(stored['businessAccountId'], ''),
    accessToken: textOr(stored['accessToken'], null),
    appSecret: textOr(stored['appSecret'], null),
    verifyToken: textOr(stored['verifyToken'], null),
    graphVersion: textOr(stored['graphVersion'], DEFAULT_GRAPH_VERSION),
    linkPreview: stored['linkPreview'] !== false,
    templates: stored['templates'] ?? {},
    throughputPerSecond:
      typeof stored['throughputPerSecond'] === 'number' ? stored['throughputPerSecond'] : DEFAULT_THROUGHPUT,
  }
}

function readId(name: string, text: string): string {
  // No leading zero: the network ignores it, so one number would have two keys here.
  if (/^[1-9]\d{0,31}$/.test(text)) return text
  const hint = name === 'phone_number_id' ? ' It is Meta’s id of the number, not the number itself.' : ''
  throw wrong(name, `${name} must be digits only, the first of them not 0, as Meta’s dashboard shows it.${hint}`)
}

// None of these sentences repeats what was given: it may be a secret in the wrong field.
function readAccessToken(name: string, text: string): string {
  if (hasSealedForm(text) || isPrintable(text, 16)) return text
  throw wrong(
    name,
    `${name} must be an access token of Meta: at least 16 letters and digits in one piece, without blanks.`,
  )
}

/** Today it has 32 hexadecimal digits. Meta may change that, so only what cannot be a secret is refused. */
function readAppSecret(name: string, text: string): string {
  if (hasSealedForm(text) || isPrintable(text, LEAST_APP_SECRET)) return text
  throw wrong(
    name,
    `${name} must be the app secret of Meta’s dashboard (App settings > Basic): 32 characters, digits and the letters a to f.`,
  )
}

function readVerifyToken(name: string, text: string): string {
  if (hasSealedForm(text) || isPrintable(text, LEAST_VERIFY_TOKEN)) return text
  throw wrong(
    name,
    `${name} must be at least ${LEAST_VERIFY_TOKEN} printable characters without blanks; you choose it, and give the same to Meta.`,
  )
}

function readGraphVersion(name: string, text: string): string {
  if (/^v\d{1,3}\.\d{1,2}$/.test(text)) return text
  throw wrong(name, `${name} must be a version of the Graph API such as ${DEFAULT_GRAPH_VERSION}.`)
}

function readSwitch(name: string, text: string): boolean {
  if (text === 'on') return true
  if (text === 'off') return false
  throw wrong(name, `${name} must be on or off.`)
}

/** Null when it is empty. */
function readTemplate(name: string, text: string): NamedTemplate | null {
  if (text === '') return null
  const [, template, language] = /^([a-z0-9_]{1,512}):([a-z]{2,3}(?:_[A-Za-z]{2,4})?)$/.exec(text) ?? []
  if (template && language) return { name: template, language, bodyVariables: null }
  throw wrong(
    name,
    `${name} must be the name and the language of a template, such as notice:en_US; ${commandLine`connection templates`} lists them.`,
  )
}

function isPrintable(text: string, least: number): boolean {
  return text.length >= least && text.length <= MOST_SECRET && /^[\x21-\x7e]+$/.test(text)
}

function unknownSetting(name: string): Refusal {
  const names = [...Object.keys(READERS), ...Object.keys(TEMPLATE_NAMES)]
  return wrong(name, `WhatsApp Cloud has no setting ${name}. It has: ${names.join(', ')}.`)
}

function wrong(name: string, sentence: string): Refusal {
  return new Refusal('setting_invalid', sentence, name)
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | null {
  return Object.hasOwn(table, name) ? (table[name] ?? null) : null
}

function textOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === 'string' ? value : fallback
}
