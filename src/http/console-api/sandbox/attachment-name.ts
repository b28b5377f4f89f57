const FALLBACK = 'file'
const LONGEST = 150

/** The file name in `Content-Disposition`: once in ASCII, and once with all its letters. */
export function attachmentName(name: string): string {
  const safe = safeName(name)
  // Letters outside ASCII, and characters that end or escape a quoted string, only appear in the other form.
  const plain = safe.replace(/[^\x20-\x7e]|["\\%;]/g, '_')
  return `filename="${plain}"; filename*=UTF-8''${encoded(safe)}`
}

/** Removes folders, invisible characters and direction marks, so that a name ends with its real extension. */
function safeName(name: string): string {
  const cleaned = [...name.toWellFormed()]
    .filter((letter) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(letter))
    .join('')
    .replace(/[/\\:]/g, '_')
    .replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, '')
  return shorten(cleaned) || FALLBACK
}

/** Shortens in the middle, because the end holds the extension. */
function shorten(name: string): string {
  const letters = [...name]
  if (letters.length <= LONGEST) return name
  return [...letters.slice(0, LONGEST - 40), '…', ...letters.slice(-39)].join('')
}

/** As RFC 8187 requires: `encodeURIComponent` leaves some characters that are not allowed there. */
function encoded(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
}
