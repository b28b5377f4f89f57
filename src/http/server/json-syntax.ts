// One token of JSON, with nothing before it: a mark, a string, or a number or name.
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a string of JSON holds none
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"|(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])/y
const BLANKS = /[ \t\n\r]*/y

type Wanted = 'value' | 'first item' | 'key' | 'first key' | 'colon' | 'separator'

/** The index of the first token that JSON does not allow there. For texts that JSON.parse refuses. */
export function findSyntaxFault(text: string): number {
  const open: ('}' | ']')[] = []
  let wanted: Wanted = 'value'
  let at = 0
  for (;;) {
    BLANKS.lastIndex = at
    BLANKS.exec(text)
    at = BLANKS.lastIndex
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[0]
    const next: Wanted | null = token === undefined ? null : after(token, wanted, open)
    if (token === undefined || next === null) return at
    wanted = next
    at += token.length
  }
}

/** What must follow this token; null when the token is not allowed here. */
function after(token: string, wanted: Wanted, open: ('}' | ']')[]): Wanted | null {
  if (token === '}' || token === ']') {
    const isFirst = wanted === (token === '}' ? 'first key' : 'first item')
    return (wanted === 'separator' || isFirst) && open.pop() === token ? 'separator' : null
  }
  if (wanted === 'colon') return token === ':' ? 'value' : null
  if (wanted === 'separator') return token !== ',' || open.length === 0 ? null : open.at(-1) === '}' ? 'key' : 'value'
  if (wanted === 'key' || wanted === 'first key') return token.startsWith('"') ? 'colon' : null
  if (token === ',' || token === ':') return null
  if (token !== '{' && token !== '[') return 'separator'
  open.push(token === '{' ? '}' : ']')
  return token === '{' ? 'first key' : 'first item'
}

/** `line 2, character 14`, both from 1. */
export function placeInText(text: string, index: number): string {
  const before = text.slice(0, index)
  const line = before.split('\n').length
  return `line ${line}, character ${[...before.slice(before.lastIndexOf('\n') + 1)].length + 1}`
}
