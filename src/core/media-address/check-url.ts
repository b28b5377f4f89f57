import type { RefusalCode } from '../refusals.ts'
import { type AddressRange, isWithin, parseIpAddress } from './ip-address.ts'
import { isPublic, privateNetworkOf } from './public-address.ts'

const MAX_URL_LENGTH = 2048
// DNS carries at most 253 characters. A host may be written longer, with escapes for instance. The URL parser is quadratic
// in the length of a host that is not ASCII: 13 ms for 2,000 characters, 0.6 ms for 512.
const MAX_WRITTEN_HOST_LENGTH = 512
export const MEDIA_PORTS: readonly number[] = [80, 443, 8080, 8443]

/** Last labels that never name a public host: names of the machine, of a local network, or of no host at all. */
const RESERVED_LABELS: ReadonlySet<string> = new Set([
  'localhost',
  'local',
  'internal',
  'localdomain',
  'home',
  'lan',
  'corp',
  'arpa',
  'onion',
  'test',
  'invalid',
  'example',
])

/** A URL that passed every rule that needs no look-up. Its addresses are checked when it is fetched (G9). */
export interface CheckedUrl {
  readonly ok: true
  /**
   * Scheme, host and port as the URL parser reads them, and `path` behind them. This is what must be stored and fetched:
   * another parser may read the caller's text differently.
   */
  readonly url: string
  /** Path and query as the caller wrote them, because signatures are made over them. */
  readonly path: string
  /** Lower case, without brackets or a trailing dot: a name, or an address when `isAddress`. */
  readonly host: string
  readonly isAddress: boolean
  readonly port: number
  readonly isTls: boolean
  /**
   * True when only the operator's allowed ranges can excuse this name or port: then every address that the name
   * resolves to must lie in them, and a public one is refused too.
   */
  readonly needsAllowedRange: boolean
}

/** The operator's exceptions from the rule that only public addresses are allowed. */
export interface OperatorRanges {
  /** Private ranges that are opened. */
  readonly allowed: readonly AddressRange[]
  /** Ranges that are closed, even if they lie in an allowed one. */
  readonly refused: readonly AddressRange[]
  /** Whether public names may have any port as well: for an origin that the operator named. */
  readonly anyPort?: boolean
  /** Our own sample files, by the whole address. They are read from the program's folder, so nothing is connected to. */
  readonly samples?: ReadonlyMap<string, string>
}

const NO_RANGES: OperatorRanges = { allowed: [], refused: [] }

export interface RefusedUrl {
  readonly ok: false
  readonly code: Extract<
    RefusalCode,
    'url_malformed' | 'sample_unknown' | 'url_has_credentials' | 'url_port_refused' | 'url_not_public'
  >
  readonly detail: string
  /** The operator has closed the address, so opening a private network would not help. For people, not for callers. */
  readonly isClosed: boolean
  /** What the operator may set to open it, for a test on private addresses. Null: nothing. For people, not for callers. */
  readonly network: string | null
}

/**
 * The part of the media URL rule that needs no look-up. Pure, and a few microseconds: the send endpoint calls it.
 *
 * An address in an allowed range may have any port; and because a local name may resolve into one, reserved and
 * single-label names are then checked only by the fetch.
 */
export function checkMediaUrl(
  text: string,
  { allowed, refused, anyPort = false, samples }: OperatorRanges = NO_RANGES,
): CheckedUrl | RefusedUrl {
  const misspelt = findMisspelling(text)
  if (misspelt) return refuse('url_malformed', misspelt)
  const url = parseWebUrl(text)
  if (!url) return refuse('url_malformed', 'The URL cannot be read: check its host and port.')

  // Searched in the text, because the parser drops an empty user name: `http://@host/`.
  const authority = authorityOf(text)
  if (authority.includes('@')) return refuse('url_has_credentials', 'The URL must not hold a user name or password.')

  const path = pathOf(text)
  const bracketed = url.hostname.startsWith('[')
  const host = bracketed ? url.hostname.slice(1, -1) : url.hostname.replace(/\.$/, '')
  const isTls = url.protocol === 'https:'
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  const address = parseIpAddress(host)
  // Kept as written, because it is looked up by its text.
  if (samples?.has(text))
    return { ...pass(url, { path, host, isAddress: false, port, isTls, needsAllowedRange: false }), url: text }
  const named = samples && namesOfSamples(text, samples)
  if (named) return refuse('sample_unknown', `There is no sample file at this URL. Those that there are: ${named}.`)
  if (bracketed && !address) return refuse('url_malformed', 'The URL cannot be read: check its host.')

  if (address) {
    if (isWithin(address, refused))
      return {
        ...refuse('url_not_public', 'The URL names an address that this service does not connect to: use another.'),
        isClosed: true,
      }
    if (isWithin(address, allowed))
      return pass(url, { path, host, isAddress: true, port, isTls, needsAllowedRange: true })
    if (!isPublic(address)) {
      const sentence = 'The URL names an address that is not public: use one on the internet.'
      return refusePrivate(sentence, { network: privateNetworkOf(address), samples })
    }
    if (!MEDIA_PORTS.includes(port)) return refusePort(port)
    return pass(url, { path, host, isAddress: true, port, isTls, needsAllowedRange: false })
  }

  if (!isHostName(host)) return refuse('url_malformed', 'The host in the URL is not a valid name.')
  const isLocal = isLocalName(host)
  if (isLocal && allowed.length === 0) {
    const sentence = 'The host of the URL is a local or reserved name: use a name on the internet.'
    return refusePrivate(sentence, { network: host === 'localhost' ? '127.0.0.0/8' : NETWORK_OF_NAME, samples })
  }
  if (!isLocal && !anyPort && !MEDIA_PORTS.includes(port)) return refusePort(port)
  // `example.com.` and `example.com` are the same host, but not to certificates and virtual hosts.
  if (host !== url.hostname) url.hostname = host
  return pass(url, { path, host, isAddress: false, port, isTls, needsAllowedRange: isLocal })
}

/** The names of all samples, if the address lies in their folder. */
function namesOfSamples(text: string, samples: ReadonlyMap<string, string>): string | null {
  // Each sample has one address for each name of this machine.
  const addresses = [...samples.keys()]
  const folder = addresses.map(folderOf).find((one) => text.startsWith(one))
  if (folder === undefined) return null
  const beside = addresses.filter((address) => address.startsWith(folder))
  return beside.map((address) => address.slice(folder.length)).join(', ')
}

// Where a local name leads is not known before it is looked up.
const NETWORK_OF_NAME = '10.0.0.0/8 (or the network of that name)'

/** Refuses a private address. Where there are samples, the sentence names one that can be sent instead. */
function refusePrivate(
  sentence: string,
  { network, samples }: Pick<RefusedUrl, 'network'> & { readonly samples: OperatorRanges['samples'] },
): RefusedUrl {
  const refused = { ...refuse('url_not_public', sentence), network }
  const [first] = samples?.keys() ?? []
  const named = samples && first !== undefined ? namesOfSamples(first, samples) : null
  if (first === undefined || named === null) return refused
  const sample = ` To try it out, use one of our samples in ${folderOf(first)}: ${named}.`
  const setting =
    network === null ? '' : ` Or ask the operator to set NUNCIO_MEDIA_ALLOWED_PRIVATE=${network} and to restart Nuncio.`
  return { ...refused, detail: sentence + sample + setting }
}

function folderOf(address: string): string {
  return address.slice(0, address.lastIndexOf('/') + 1)
}

/** Like `URL.parse`, but also null when the host is longer than any real one. For every URL that comes from outside. */
export function parseWebUrl(text: string, base?: string): URL | null {
  const authority = authorityOf(text)
  if (authority.length - authority.lastIndexOf('@') - 1 > MAX_WRITTEN_HOST_LENGTH) return null
  return URL.parse(text, base)
}

/** The part that the URL parser takes for user, host and port; empty for a path. The parser accepts any number of slashes. */
function authorityOf(text: string): string {
  return /^ *(?:[a-z][a-z0-9+.-]*:\/*|\/{2,})([^/?#]*)/i.exec(text)?.[1] ?? ''
}

/**
 * What follows the host, without the fragment. Encoded is only what may not stand in a request line and what the URL parser
 * encodes as well; the parser would also turn `'` into `%27` and take dots out, and a signature would no longer fit.
 */
function pathOf(text: string): string {
  const [, path = '', query = ''] = /^https?:\/\/[^/?#]*([^?#]*)([^#]*)/i.exec(text) ?? []
  const written = path.replace(/[^\x21-\x7e]|["<>^`{}]/gu, encodeURIComponent)
  return (written || '/') + query.replace(/[^\x21-\x7e]|["<>]/gu, encodeURIComponent)
}

function findMisspelling(text: string): string | null {
  if (isTooLong(text)) return `The URL is longer than ${MAX_URL_LENGTH} characters.`
  // Parsers disagree about these: one drops a tab, another cuts the host there; one takes `\` for `/`, another for
  // part of the user name. The address we check must be the one that every parser reads.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u0020\u007f\\]/.test(text)) {
    return 'The URL holds a space, a control character or a backslash. Percent-encode it.'
  }
  if (!/^https?:\/\/[^/]/i.test(text)) return 'The URL must be absolute and start with http:// or https://.'
  if (!text.isWellFormed()) return 'The URL holds half of a surrogate pair, which is no valid Unicode.'
  return null
}

function isTooLong(text: string): boolean {
  if (text.length <= MAX_URL_LENGTH) return false
  return text.length > 2 * MAX_URL_LENGTH || [...text].length > MAX_URL_LENGTH
}

/** What DNS can carry and every parser reads alike. The URL parser lets more through, such as `a..b` and `a!b`. */
function isHostName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label))
}

function isLocalName(host: string): boolean {
  const lastDot = host.lastIndexOf('.')
  return lastDot === -1 || RESERVED_LABELS.has(host.slice(lastDot + 1))
}

function pass(url: URL, checked: Omit<CheckedUrl, 'ok' | 'url'>): CheckedUrl {
  return { ok: true, url: url.origin + checked.path, ...checked }
}

function refuse(code: RefusedUrl['code'], detail: string): RefusedUrl {
  return { ok: false, code, detail, isClosed: false, network: null }
}

function refusePort(port: number): RefusedUrl {
  return refuse('url_port_refused', `Port ${port} is refused: only the ports 80, 443, 8080 and 8443 are allowed.`)
}
