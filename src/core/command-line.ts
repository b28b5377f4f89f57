// Texts of whole tables are made while their files are loaded, so a program says how it was started before it loads them.
let prefix = 'nuncio'
let isUsed = false

/** For programs that begin to run, before anything else: what a person types before the words of a command. */
export function setCommandPrefix(text: string): void {
  if (isUsed && text !== prefix) throw new Error('The prefix of commands was set after sentences had been made with it')
  prefix = text
}

/** What a person types before the words of a command, such as `nuncio` or `npx nuncio`. */
export function commandPrefix(): string {
  isUsed = true
  return prefix
}

/** A command as a person types it where this program runs. What is filled in is quoted where a shell would split or change it. */
export function commandLine(words: TemplateStringsArray, ...given: readonly unknown[]): string {
  return `${commandPrefix()} ${String.raw({ raw: words }, ...given.map((value) => shellWord(String(value))))}`
}

/** One word for a shell, as it stands or in single quotes. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
