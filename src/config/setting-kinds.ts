import { isIP, isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import type { RefusalCode } from '../core/refusals.ts'
import { parseCidr } from './cidr.ts'

export type Parsed<T> = { readonly value: T } | { readonly wrong: string; readonly code?: RefusalCode }

/** The texts that a setting accepts. `rule` completes the sentence "it must be …". */
export interface SettingKind<T> {
  readonly rule: string
  readonly parse: (text: string) => Parsed<T>
  /** The text as people may see it, right or wrong, where it may hold a secret among other things. */
  readonly show?: (text: string) => string
}

const BYTES_PER_MB = 1_048_576

function kind<T>(rule: string, read: (text: string) => T | null): SettingKind<T> {
  return {
    rule,
    parse(text) {
      const value = read(text)
      return value === null ? { wrong: `it must be ${rule}.` } : { value }
    },
  }
}

export function wholeNumber(least: number, most: number): SettingKind<number> {
  return kind(`a whole number from ${least} to ${most}`, (text) => {
    if (!/^[0-9]{1,15}$/.test(text)) return null
    const value = Number(text)
    return value >= least && value <= most ? value : null
  })
}

export function daysOrForEver(least: number, most: number): SettingKind<number> {
  const days = wholeNumber(least, most)
  return kind(`${days.rule}, or 0 for ever`, (text) => {
    const parsed = days.parse(text)
    return 'value' in parsed ? parsed.value : text === '0' ? 0 : null
  })
}

/** Written in MB, kept in bytes. */
export function megabytes(least: number, most: number): SettingKind<number> {
  const whole = wholeNumber(least, most)
  return kind(`${whole.rule} (1 MB is 1,048,576 bytes)`, (text) => {
    const parsed = whole.parse(text)
    return 'value' in parsed ? parsed.value * BYTES_PER_MB : null
  })
}

export const trueOrFalse: SettingKind<boolean> = kind('true or false', (text) =>
  text === 'true' ? true : text === 'false' ? false : null,
)

export function oneOf<const Word extends string>(words: readonly Word[]): SettingKind<Word> {
  return kind(`one of ${words.join(', ')}`, (text) => words.find((word) => word === text) ?? null)
}

/** An absolute path, counted from the working folder. */
export const folder: SettingKind<string> = kind('the path of a folder', (text) =>
  text.includes('\0') ? null : resolve(text),
)

/** The same for a file; null when nothing is given. */
export const file: SettingKind<string | null> = kind('the path of a file', (text) =>
  text.includes('\0') || text.endsWith('/') ? null : resolve(text),
)

export const host: SettingKind<string> = kind('an IP address or a host name of this machine', (text) =>
  isIP(text) > 0 || /^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(text) ? text : null,
)

/** Without a slash at the end; null when nothing is given. */
export const baseUrl: SettingKind<string | null> = kind(
  'an absolute http:// or https:// URL without user name, query or fragment',
  (text) => {
    const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null
    if (!url || url.username || url.password || /[?#]/.test(text)) return null
    return url.href.replace(/(?<!\/)\/+$/, '')
  },
)

// A path that begins with one of these would be confused with one of the service itself.
const OWN_PATHS = ['channels', 'chat', 'console', 'docs', 'health', 'metrics', 'openapi.json']

/** Where callers and people reach the service. Below its path, if it has one, everything is served. */
export const publicUrl: SettingKind<string | null> = {
  rule: `${baseUrl.rule}, with a plain path or none`,
  parse(text) {
    const url = baseUrl.parse(text)
    if ('wrong' in url) return url
    const path = text.replace(/^https?:\/\/[^/\\]*/i, '').replace(/\/+$/, '')
    const [, first = ''] = path.split('/')
    if (!/^(?:\/[\w.~-]+)*$/.test(path) || /\/\.{1,2}(?:\/|$)/.test(path))
      return {
        wrong:
          'its path must be plain, such as /nuncio: letters, digits and the signs - . _ ~ between single slashes, and no "." or "..".',
      }
    if (OWN_PATHS.includes(first))
      return {
        wrong: `its path must not begin with /${first}, because Nuncio has a path of that name: take another, such as /nuncio.`,
      }
    return url
  },
}

/** The URL of a network's API. Without TLS only on this machine, for a simulator. */
export const networkUrl: SettingKind<string> = kind(
  'an absolute https:// URL, or an http:// URL of this machine (127.0.0.1, [::1] or localhost), without user name, query or fragment',
  (text) => {
    const url = baseUrl.parse(text)
    if (!('value' in url) || url.value === null) return null
    const { protocol, hostname } = new URL(url.value)
    return protocol === 'https:' || isThisMachine(hostname) ? url.value : null
  },
)

function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
}

export const cidrList: SettingKind<readonly string[]> = list(
  'address ranges such as 10.0.0.0/8 or fd00::/8, with zeros behind the prefix, separated by commas',
  parseCidr,
)

const MOST_ORIGINS = 32

/** Written as `URL.origin` has them, so that they can be compared with it. */
export const originList: SettingKind<readonly string[]> = list(
  `at most ${MOST_ORIGINS} origins such as http://127.0.0.1:7900, without a path, separated by commas`,
  (text) => {
    const url = /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) && URL.canParse(text) ? new URL(text) : null
    return url?.origin ?? null
  },
  MOST_ORIGINS,
)

export const dnsServerList: SettingKind<readonly string[]> = list(
  'IP addresses of DNS servers, with a port if it is not 53 (192.0.2.1:5353, [2001:db8::1]:5353), separated by commas',
  (text) => {
    if (isIP(text) > 0) return text
    const [, v6, other, port = ''] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? []
    const addressed = v6 === undefined ? isIP(other ?? '') === 4 : isIPv6(v6)
    return addressed && Number(port) >= 1 && Number(port) <= 65_535 ? text : null
  },
)

/** Null when nothing is given. Its sentence never repeats the text: a secret must not end in a log. */
export function secretText(leastLength: number): SettingKind<string | null> {
  const least = leastLength > 1 ? `at least ${leastLength} ` : ''
  return kind(`${least}printable ASCII characters without blanks`, (text) =>
    text.length >= leastLength && /^[\x21-\x7e]+$/.test(text) ? text : null,
  )
}

/** Names and values of HTTP headers. Its sentence never repeats the text: they hold secrets. */
export const headerPairs: SettingKind<Readonly<Record<string, string>>> = kind(
  'headers written as name=value, separated by commas, each of printable ASCII characters',
  (text) => {
    const pairs = text
      .split(',')
      .map((pair) => /^\s*([\w.-]+)\s*=\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/.exec(pair))
    if (pairs.includes(null)) return null
    return Object.fromEntries(pairs.map((found) => [found?.[1] ?? '', found?.[2] ?? '']))
  },
)

/** Which parts of the work a process does. */
export const ROLES = ['api', 'dispatch', 'console'] as const
export type Role = (typeof ROLES)[number]

/** In the order of the table, each once. */
export const roleList: SettingKind<readonly Role[]> = {
  rule: `one or more of ${ROLES.join(', ')}, separated by commas`,
  parse(text) {
    const items = text.split(/[\s,]+/).filter((item) => item !== '')
    const wrong = items.find((item) => !ROLES.some((role) => role === item))
    if (wrong !== undefined || items.length === 0) return { wrong: `it must be ${roleList.rule}.` }
    return { value: ROLES.filter((role) => items.includes(role)) }
  },
}

function list(
  rule: string,
  readOne: (text: string) => string | null,
  most = Number.POSITIVE_INFINITY,
): SettingKind<readonly string[]> {
  return {
    rule,
    parse(text) {
      const items = text.split(/[\s,]+/).filter((item) => item !== '')
      const wrong = items.find((item) => readOne(item) === null)
      if (wrong !== undefined) return { wrong: `it must be ${rule}; ${JSON.stringify(wrong.slice(0, 80))} is not one.` }
      if (items.length > most) return { wrong: `it must be ${rule}; there are ${items.length}.` }
      return { value: items.map((item) => readOne(item) ?? item) }
    },
  }
}

/** Where numbers log in as linked devices. */
interface WhatsAppWebUrl {
  readonly url: string
  /** The root key of a simulator's certificates, in base64; null: WhatsApp's own. */
  readonly rootKey: string | null
}

const ROOT_KEY_BYTES = 32

/** Only a simulator on this machine may have a key of its own: its owner can read all that is sent. */
export const whatsAppWebUrl: SettingKind<WhatsAppWebUrl> = kind(
  'a wss:// URL, or the ws:// URL of a simulator on this machine (127.0.0.1, [::1] or localhost) with its key behind a #',
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : null
    if (!url || url.username || url.password) return null
    const key = Buffer.from(url.hash.slice(1), 'base64url')
    url.hash = ''
    if (url.protocol === 'wss:') return key.length === 0 ? { url: url.href, rootKey: null } : null
    const isSimulator = url.protocol === 'ws:' && isThisMachine(url.hostname) && key.length === ROOT_KEY_BYTES
    return isSimulator ? { url: url.href, rootKey: key.toString('base64') } : null
  },
)

type WhatsAppWebVersion = `2.3000.${number}`

export const whatsAppWebVersion = kind<WhatsAppWebVersion>(
  'a version of WhatsApp Web such as 2.3000.1043857760',
  (text) => {
    const [, revision] = /^2\.3000\.([1-9]\d{0,11})$/.exec(text) ?? []
    return revision === undefined ? null : `2.3000.${Number(revision)}`
  },
)
