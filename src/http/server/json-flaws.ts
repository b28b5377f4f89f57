interface FlawedText {
  readonly code: 'text_not_unicode' | 'text_has_nul'
  readonly field: string | null
}

/**
 * The first string, key or value, with half a character or U+0000 in it. Only few requests come here, so it need not
 * be fast; the nesting has been limited before.
 */
export function findFlawedText(value: unknown, path = ''): FlawedText | null {
  if (typeof value === 'string') return checkText(value, path)
  if (typeof value !== 'object' || value === null) return null
  for (const [key, item] of Object.entries(value)) {
    // A flawed key names no field: it is its object that is flawed.
    const flaw = checkText(key, path) ?? findFlawedText(item, path === '' ? key : `${path}.${key}`)
    if (flaw) return flaw
  }
  return null
}

function checkText(text: string, path: string): FlawedText | null {
  const field = path === '' ? null : path
  if (text.includes('\u0000')) return { code: 'text_has_nul', field }
  return text.isWellFormed() ? null : { code: 'text_not_unicode', field }
}
