import { parseAddressRange, parseIpAddress } from '../../../core/media-address/ip-address.ts'
import { Refusal } from '../../../core/refusals.ts'
import { TOKEN_EVENT_NAMES, type TokenEvent } from '../../../core/token/token.ts'

export function readEvents(names: readonly string[]): readonly TokenEvent[] {
  return [...new Set(names)].map((name) => {
    const event = TOKEN_EVENT_NAMES.find((known) => known === name)
    if (!event) throw new Refusal('event_unknown', `There is no event “${name}”.`, 'events')
    return event
  })
}

/** With the prefix length written out: a plain address is a range of one. */
export function readSourceRanges(texts: readonly string[]): readonly string[] {
  const wrong: string[] = []
  const ranges = texts.map((text) => {
    const range = parseAddressRange(text)
    if (range === null) wrong.push(faultOf(text))
    return range === null || text.includes('/') ? text : `${text}/${range.prefixLength}`
  })
  if (wrong.length > 0) throw new Refusal('argument_invalid', wrong.join(' '), 'sourceRanges')
  return [...new Set(ranges)]
}

function faultOf(text: string): string {
  const [address = '', prefix] = text.split('/')
  // An unreadable range would allow no address, so an almost valid one is explained, not guessed.
  const isNearly = prefix !== undefined && parseIpAddress(address) !== null
  return isNearly
    ? `“${text}” is no range: behind its first ${prefix} bits all bits must be zero, as in 203.0.113.0/24.`
    : `“${text}” is no address range. Write it like 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32.`
}
