/** `wrong` is the rest of a sentence that begins with the name of the file. */
export type Decoded = { readonly text: string } | { readonly wrong: string }

/**
 * The bytes of a file that people write, as text. A byte order mark, which many editors put first, is not part of it. Every
 * other encoding than UTF-8 is refused: read as UTF-8 it would lose its first line, or all of them, without a word.
 */
export function decodeText(bytes: Uint8Array): Decoded {
  const [first, second] = bytes
  // Text of one byte for each character never holds a zero.
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0))
    return { wrong: 'is UTF-16 or no text at all. Save it as UTF-8.' }
  const text = decode(bytes)
  return text === null ? { wrong: `is not UTF-8 in line ${wrongLine(bytes)}. Save it as UTF-8.` } : { text }
}

/** Null when it is no UTF-8. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function wrongLine(bytes: Uint8Array): number {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start)
    if (end === -1 || decode(bytes.subarray(start, end)) === null) break
    start = end + 1
  }
  return line
}
