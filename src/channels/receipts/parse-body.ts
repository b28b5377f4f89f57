// Meta nests eight levels or so. A largest body of usual statuses holds about 40,000 objects and lists.
const MOST_LEVELS = 32
const MOST_CONTAINERS = 200_000

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * The value of a body of JSON; null for what is none, or is of a kind that only an attacker writes. The owner of an account
 * can sign anything with the secret of their own app, and three megabytes of brackets would keep the process busy for
 * seconds: so they are counted before they are parsed, which takes milliseconds.
 */
export function parseBody(body: Uint8Array): { readonly value: unknown } | null {
  if (!isModest(body)) return null
  try {
    // Meta writes ASCII, but any UTF-8 will do.
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) }
  } catch {
    return null
  }
}

function isModest(body: Uint8Array): boolean {
  let levels = 0
  let containers = 0
  let isInText = false
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (isInText) {
      if (byte === BACKSLASH) i += 1
      else if (byte === QUOTE) isInText = false
    } else if (byte === QUOTE) isInText = true
    // `[` and `{`, and then `]` and `}`.
    else if (byte === 0x5b || byte === 0x7b) {
      levels += 1
      containers += 1
      if (levels > MOST_LEVELS || containers > MOST_CONTAINERS) return false
    } else if (byte === 0x5d || byte === 0x7d) levels -= 1
  }
  return true
}
