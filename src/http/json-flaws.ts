/**
 * Says where a flaw is that strict-json.ts has noticed. Only refused requests come here, so it need not be fast.
 * The nesting has been limited before.
 */

export interface FlawedText {
  readonly code: 'text_not_unicode' | 'text_has_nul'
  readonly field: string | null
}

/** The first string, key or value, with half a character or U+0000 in it. */
export function findFlawedText(value: unknown, path = ''): FlawedText | null {
  if (typeof value === 'string') return judgeText(value, path)
  if (typeof value !== 'object' || value === null) return null
  for (const [key, item] of Object.entries(value)) {
    // A flawed key names no field: it is its object that is flawed.
    const flaw = judgeText(key, path) ?? findFlawedText(item, path === '' ? key : `${path}.${key}`)
    if (flaw) return flaw
  }
  return null
}

function judgeText(text: string, path: string): FlawedText | null {
  const field = path === '' ? null : path
  if (text.includes('\u0000')) return { code: 'text_has_nul', field }
  return text.isWellFormed() ? null : { code: 'text_not_unicode', field }
}

interface OpenValue {
  /** The keys seen so far; null in an array. */
  readonly keys: Set<string> | null
  /** The last key read, or the place in the array. */
  step: string | number
}

/** The path of the first key that stands twice in its object. `text` must be valid JSON. */
export function findRepeatedKey(text: string): string | null {
  const open: OpenValue[] = []
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/gs)
  let lastString = ''
  for (const [token] of tokens) {
    const innermost = open.at(-1)
    if (token === '{') open.push({ keys: new Set(), step: '' })
    else if (token === '[') open.push({ keys: null, step: 0 })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && typeof innermost?.step === 'number') innermost.step += 1
    else if (token === ':' && innermost?.keys) {
      const key = String(JSON.parse(lastString))
      innermost.step = key
      if (innermost.keys.has(key)) return open.map(({ step }) => step).join('.')
      innermost.keys.add(key)
    } else if (token.startsWith('"')) lastString = token
  }
  return null
}
