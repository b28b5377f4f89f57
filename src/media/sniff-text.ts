import type { FoundType } from './found-type.ts'

/** Recognises text, and the pages that hosts send in place of a file. Null when it is not text. */
export function sniffText(head: Uint8Array): FoundType | null {
  const text = decode(head)
  if (text === null) return null
  const start = text.trimStart().slice(0, 1000).toLowerCase()
  if (!start.startsWith('<')) return { mime: 'text/plain', words: 'plain text' }
  if (/<(!doctype html|html|head|body|script|title)\b/.test(start)) return { mime: 'text/html', words: 'an HTML page' }
  if (/<svg[\s>]/.test(start)) return { mime: 'image/svg+xml', words: 'an SVG image' }
  if (start.startsWith('<?xml')) return { mime: 'application/xml', words: 'an XML document' }
  return { mime: 'text/plain', words: 'plain text' }
}

function decode(head: Uint8Array): string | null {
  if (head.length === 0) return null
  const bom = ((head[0] ?? 0) << 8) | (head[1] ?? 0)
  const encoding = bom === 0xfffe ? 'utf-16le' : bom === 0xfeff ? 'utf-16be' : 'utf-8'
  try {
    // As a stream, because the head may end in the middle of a character.
    const text = new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what has these is no text
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? null : text
  } catch {
    return null
  }
}
