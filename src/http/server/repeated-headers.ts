// Headers that may be sent only once. When there are two, Node keeps the first or joins them, and a proxy in front may have used
// the other one.
const SINGLE_HEADERS = [
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'expect',
  'x-api-key',
  'idempotency-key',
  'authorization',
] as const
export type SingleHeader = (typeof SINGLE_HEADERS)[number]

/** A set of headers, one bit for each. Zero for almost every request. */
export type HeaderSet = number

/** The headers that were sent more than once. Runs for every request, so it compares only names of fitting length. */
export function findRepeatedHeaders(rawHeaders: readonly string[]): HeaderSet {
  let seen = 0
  let repeated = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const bit = bitOf(rawHeaders[index] ?? '')
    repeated |= seen & bit
    seen |= bit
  }
  return repeated
}

export function isAmong(headers: HeaderSet, name: SingleHeader): boolean {
  return headers !== 0 && (headers & (1 << SINGLE_HEADERS.indexOf(name))) !== 0
}

function bitOf(name: string): number {
  switch (name.length) {
    case 4:
    case 6:
    case 9:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17: {
      const place = (SINGLE_HEADERS as readonly string[]).indexOf(name.toLowerCase())
      return place === -1 ? 0 : 1 << place
    }
    default:
      return 0
  }
}
