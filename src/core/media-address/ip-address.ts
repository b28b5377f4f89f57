/** An IP address as numbers: one 32-bit word for IPv4, four for IPv6. */
export interface IpAddress {
  readonly family: 4 | 6
  readonly words: readonly number[]
}

/** A block of addresses, such as 10.0.0.0/8. Bits behind the prefix are zero. */
export interface AddressRange extends IpAddress {
  readonly prefixLength: number
}

/** Reads an address in its ordinary spelling. Null for everything else: other bases, leading zeros, zone ids, brackets. */
export function parseIpAddress(text: string): IpAddress | null {
  if (text.includes(':')) {
    const words = parseIpv6(text)
    return words && { family: 6, words }
  }
  const word = parseIpv4(text)
  return word === null ? null : { family: 4, words: [word] }
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address. Null when malformed or when bits behind the prefix are set. */
export function parseAddressRange(text: string): AddressRange | null {
  const [addressText = '', prefixText, ...rest] = text.split('/')
  const address = parseIpAddress(addressText)
  if (!address || rest.length > 0) return null
  const most = address.words.length * 32
  if (prefixText === undefined) return { ...address, prefixLength: most }
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefixText) || Number(prefixText) > most) return null
  const prefixLength = Number(prefixText)
  const hasHostBits = address.words.some((word, index) => (word & ~maskOf(index, prefixLength)) !== 0)
  return hasHostBits ? null : { ...address, prefixLength }
}

export function isWithin(address: IpAddress, ranges: readonly AddressRange[]): boolean {
  return ranges.some((range) => covers(range, address))
}

function covers(range: AddressRange, address: IpAddress): boolean {
  if (range.family !== address.family) return false
  return range.words.every(
    (word, index) => (((address.words[index] ?? 0) ^ word) & maskOf(index, range.prefixLength)) === 0,
  )
}

/** The bits of word number `index` that lie within the prefix, as a signed 32-bit mask. */
function maskOf(index: number, prefixLength: number): number {
  const bits = prefixLength - index * 32
  if (bits <= 0) return 0
  // A shift by 32 is a shift by 0 in JavaScript, so the whole word needs its own line.
  if (bits >= 32) return -1
  return -1 << (32 - bits)
}

const DECIMAL_BYTE = '(0|[1-9][0-9]{0,2})'
const DOTTED = new RegExp(`^${DECIMAL_BYTE}\\.${DECIMAL_BYTE}\\.${DECIMAL_BYTE}\\.${DECIMAL_BYTE}$`)

function parseIpv4(text: string): number | null {
  const match = DOTTED.exec(text)
  if (!match) return null
  let word = 0
  for (const part of match.slice(1)) {
    if (Number(part) > 255) return null
    word = word * 256 + Number(part)
  }
  return word
}

function parseIpv6(text: string): readonly number[] | null {
  const plain = text.includes('.') ? withHexTail(text) : text
  if (plain === null) return null
  const halves = plain.split('::')
  if (halves.length > 2) return null
  const front = parseGroups(halves[0] ?? '')
  const back = halves.length === 2 ? parseGroups(halves[1] ?? '') : []
  if (!front || !back) return null
  const missing = 8 - front.length - back.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  const groups = [...front, ...new Array<number>(missing).fill(0), ...back]
  return [0, 2, 4, 6].map((index) => (groups[index] ?? 0) * 65_536 + (groups[index + 1] ?? 0))
}

/** Turns the dotted tail of `::ffff:1.2.3.4` into two groups. */
function withHexTail(text: string): string | null {
  const start = text.lastIndexOf(':') + 1
  const word = parseIpv4(text.slice(start))
  if (word === null) return null
  return `${text.slice(0, start)}${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`
}

function parseGroups(text: string): number[] | null {
  if (text === '') return []
  const groups = text.split(':')
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null
  return groups.map((group) => Number.parseInt(group, 16))
}
