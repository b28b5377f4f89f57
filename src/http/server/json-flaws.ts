interface FlawedText {
  readonly code: 'text_not_unicode' | 'text_has_nul'
  readonly field: string | null
}

/**
 * The first string, key or value, that holds a lone surrogate or U+0000. Few requests come here, so it need not be fast;
 * the nesting is limited already.
 */
export function findFlawedText(value: unknown, path = ''): FlawedText | null {
  if (typeof value === 'string') return checkText(value, path)
  if (typeof value !== 'object' || value === null) return null
  for (const [key, item] of Object.entries(value)) {
    // The path of a flawed key is that of its object.
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
