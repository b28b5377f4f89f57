import type { ChannelDescription, SettingDescription } from '../../core/ports/channel-description.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Cli } from '../cli.ts'
import { LANE_SETTING_NAMES } from './connection-settings.ts'

type Pairs = Readonly<Record<string, string>>

// Far more than the longest token, and little enough for a file named by mistake.
const MOST_CHARACTERS = 65_536

/**
 * The values of settings as they were meant: `@file` is what the file holds, `@-` what comes by standard input, `@@…` a text
 * that begins with one `@`. Warns of secrets that stand on the command line itself.
 */
export async function readSettingValues(
  cli: Cli,
  channel: Pick<ChannelDescription, 'label' | 'settings'>,
  given: Pairs,
): Promise<Pairs> {
  const { settings } = channel
  refuseUnknown(channel, Object.keys(given))
  const open: string[] = []
  const values: Record<string, string> = {}
  let inputFor: string | null = null
  for (const [name, text] of Object.entries(given)) {
    if (text === '@-') {
      if (inputFor !== null)
        throw wrong(name, `Standard input can give one setting only, and ${inputFor} takes it already.`)
      inputFor = name
    }
    values[name] = await readValue(cli, name, text)
    if (isSecret(settings, name) && !isReference(text) && text !== '') open.push(name)
  }
  if (open.length > 0) cli.warn(inTheOpen(open))
  return values
}

/** Asks for the required settings that are missing, where there is a terminal. Refuses elsewhere. */
export async function promptForMissing(
  cli: Cli,
  { label, settings }: { readonly label: string; readonly settings: readonly SettingDescription[] },
  given: Pairs,
): Promise<Pairs> {
  const missing = settings.filter(({ name, isRequired }) => isRequired && !given[name]?.trim())
  const [first] = missing
  if (!first) return given
  const { ask } = cli.surroundings
  if (!ask) {
    const names = missing.map(({ name }) => name).join(', ')
    const secret = missing.find(({ kind }) => kind === 'secret')
    const hint = secret ? ` Secrets best come from a file: --set ${secret.name}=@FILE.` : ''
    throw wrong(first.name, `A connection of ${label} also needs ${names}: give each with --set NAME=VALUE.${hint}`)
  }
  const all: Record<string, string> = { ...given }
  for (const { name, label: what, help, kind } of missing) {
    const isHidden = kind === 'secret'
    const question = `${what}: ${help}\n${name}${isHidden ? ' (not shown)' : ''}: `
    all[name] = (await ask({ question, isHidden })).trim()
  }
  return all
}

async function readValue(cli: Cli, name: string, text: string): Promise<string> {
  if (text.startsWith('@@')) return text.slice(1)
  if (!isReference(text)) return text
  const value = text === '@-' ? await cli.surroundings.readInput() : await readFrom(cli, name, text.slice(1))
  if (value.length > MOST_CHARACTERS)
    throw wrong(name, `What is given as ${name} is longer than ${MOST_CHARACTERS} characters.`)
  // Most tools end a file with a line break that is not part of what it holds.
  const meant = value.replace(/\r?\n$/, '')
  if (meant.trim() !== '') return meant
  const source = text === '@-' ? 'Standard input' : `The file ${text.slice(1)}`
  throw wrong(name, `${source}, given as ${name}, is empty.`)
}

async function readFrom(cli: Cli, name: string, path: string): Promise<string> {
  try {
    return await cli.surroundings.readFile(path)
  } catch (error) {
    if (error instanceof Refusal) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const why = WHY_UNREADABLE[code] ?? code
    throw new Refusal('argument_invalid', `The file ${path}, given as ${name}, cannot be read: ${why}.`, name, {
      cause: error,
    })
  }
}

const WHY_UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
}

function isReference(text: string): boolean {
  return text.startsWith('@') && !text.startsWith('@@') && text.length > 1
}

function isSecret(settings: readonly SettingDescription[], wanted: string): boolean {
  return settings.some(({ name, kind }) => name === wanted && kind === 'secret')
}

function inTheOpen([first = '', ...others]: readonly string[]): string {
  const last = others.at(-1)
  const names = last === undefined ? first : `${[first, ...others.slice(0, -1)].join(', ')} and ${last}`
  const it = last === undefined ? 'it' : 'them'
  return `${names} stood on the command line, where others on this machine and the history of the shell may see ${it}. Better: ${first}=@FILE, or ${first}=@- to read it from standard input.`
}

/** Before any file is read and any network asked. */
function refuseUnknown(
  { label, settings }: Pick<ChannelDescription, 'label' | 'settings'>,
  given: readonly string[],
): void {
  const names = settings.map(({ name }) => name)
  const unknown = given.find((name) => !names.includes(name))
  if (unknown === undefined) return
  const lane = LANE_SETTING_NAMES.join(', ')
  throw wrong(unknown, `${label} has no setting ${unknown}. It has: ${names.join(', ')}; and every lane has: ${lane}.`)
}

function wrong(name: string, sentence: string): Refusal {
  return new Refusal('argument_invalid', sentence, name)
}
