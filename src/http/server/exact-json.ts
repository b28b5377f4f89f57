type ExactJson =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly code: 'key_repeated' | 'key_escaped'
      readonly field: string
      /** Where the key begins. */
      readonly index: number
    }

/**
 * Reads JSON key by key where JSON.parse is not reliable: it hides repeated keys, and it misreads keys that are written
 * with escapes. (After the key `\` it reads the next `"\""` or `"\n"` in such an object as that key, too: nodejs/node
 * issue 63785. One caller's body would change how the next one is read.)
 *
 * `text` must be valid JSON, its nesting limited. Slower than JSON.parse by far, but almost no request comes here.
 */
export function readJsonExactly(text: string): ExactJson {
  const reader = new ExactReader(text)
  const value = reader.readValue(reader.nextToken(), '')
  return reader.flaw ?? { ok: true, value }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs
const ESCAPE = /\\(?:u([0-9a-f]{4})|.)/gi

class ExactReader {
  /** The first one found. */
  flaw: Extract<ExactJson, { ok: false }> | null = null
  readonly #tokens: Iterator<RegExpExecArray>
  #index = 0

  constructor(text: string) {
    this.#tokens = text.matchAll(TOKEN)
  }

  nextToken(): string {
    const next = this.#tokens.next()
    if (next.done) return ''
    this.#index = next.value.index
    return next.value[0]
  }

  readValue(token: string, path: string): unknown {
    if (token === '{') return this.#readObject(path)
    if (token === '[') return this.#readArray(path)
    // JSON.parse reads single values correctly; it only confuses keys.
    return JSON.parse(token)
  }

  #readObject(path: string): object {
    const entries = new Map<string, unknown>()
    for (let token = this.nextToken(); token !== '}' && token !== ''; token = this.nextToken()) {
      if (token === ',') continue
      const key = String(JSON.parse(token))
      const index = this.#index
      const field = join(path, key)
      if (entries.has(key)) this.flaw ??= { ok: false, code: 'key_repeated', field, index }
      if (escapesLetters(token)) this.flaw ??= { ok: false, code: 'key_escaped', field, index }
      // The colon.
      this.nextToken()
      entries.set(key, this.readValue(this.nextToken(), field))
    }
    return Object.fromEntries(entries)
  }

  #readArray(path: string): readonly unknown[] {
    const items: unknown[] = []
    for (let token = this.nextToken(); token !== ']' && token !== ''; token = this.nextToken()) {
      if (token !== ',') items.push(this.readValue(token, join(path, String(items.length))))
    }
    return items
  }
}

function join(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`
}

/**
 * No honest program escapes plain letters of a key; an attacker does, so that two parsers read different things. Refused,
 * so that no later reader of the body is affected by the fault of JSON.parse.
 */
function escapesLetters(token: string): boolean {
  for (const [, code] of token.matchAll(ESCAPE)) {
    if (code && /[0-9A-Za-z]/.test(String.fromCharCode(Number.parseInt(code, 16)))) return true
  }
  return false
}
