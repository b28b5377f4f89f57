import { readFileSync } from 'node:fs'
import { decodeText } from '../core/decode-text.ts'
import type { SettingProblem } from './read-settings.ts'
import { SETTINGS } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

const END = '_FILE'
/** The settings that may come from a file. URLs of databases hold passwords. */
export const FROM_FILES = Object.values(SETTINGS).filter(({ name, secret }) => secret || /^NUNCIO_DATABASE_/.test(name))

interface FilledEnvironment {
  readonly environment: Environment
  readonly problems: readonly SettingProblem[]
}

/**
 * The environment with the content of the file `NAME_FILE` as `NAME`, for settings that hold secrets: more programs can read an
 * environment than a file.
 */
export function readSecretFiles(environment: Environment): FilledEnvironment {
  const filled: Record<string, string | undefined> = { ...environment }
  const problems: SettingProblem[] = []
  for (const { name } of FROM_FILES) {
    const path = environment[name + END]?.trim()
    if (path === undefined) continue
    delete filled[name + END]
    if (path === '') continue
    try {
      if (environment[name]?.trim()) throw new Error(`${name} is set as well: leave one of them out`)
      const decoded = decodeText(readFileSync(path))
      if ('wrong' in decoded) throw new Error(`the file ${decoded.wrong.replace(/\.$/, '')}`)
      filled[name] = decoded.text.trim()
    } catch (error) {
      problems.push({ setting: name, code: 'setting_invalid', sentence: explain(name, error) })
    }
  }
  return { environment: filled, problems }
}

function explain(name: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : null
  if (code === null) return `${name}${END} cannot be used: ${error instanceof Error ? error.message : String(error)}.`
  return `The file that ${name}${END} names cannot be read (${code}). It must be there, and may be read by the user that runs Nuncio.`
}
