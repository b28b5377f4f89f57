const FALLBACK = 'file'
const LONGEST = 150

/** The part of `Content-Disposition` that names the file: once for all, and once with every letter it has. */
export function attachmentName(name: string): string {
  const safe = safeName(name)
  // Outside ASCII, and with what ends or escapes a quoted string, it goes only into the other form.
  const plain = safe.replace(/[^\x20-\x7e]|["\\%;]/g, '_')
  return `filename="${plain}"; filename*=UTF-8''${encoded(safe)}`
}

/** No folders, nothing invisible and nothing that turns the direction of writing, so that the end of a name is its end. */
function safeName(name: string): string {
  const cleaned = [...name.toWellFormed()]
    .filter((letter) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(letter))
    .join('')
    .replace(/[/\\:]/g, '_')
    .replace(/^[.\s]+|(?<![.\s])[.\s]+$/g, '')
  return shorten(cleaned) || FALLBACK
}

/** From the middle, because the ending says what it is. */
function shorten(name: string): string {
  const letters = [...name]
  if (letters.length <= LONGEST) return name
  return [...letters.slice(0, LONGEST - 40), '…', ...letters.slice(-39)].join('')
}

/** As RFC 8187 wants it: `encodeURIComponent` leaves some letters that are not allowed there. */
function encoded(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
}
