/** A connection in one line of text, such as the choices of a field: "15550001000 · Front desk". */
export function namedNumber({ number, name }: { readonly number: string; readonly name: string | null }): string {
  return name === null ? number : `${number} · ${name}`
}
