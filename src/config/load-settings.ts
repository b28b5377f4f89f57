import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { decodeText } from '../core/decode-text.ts'
import { Refusal } from '../core/refusals.ts'
import { readSecretFiles } from './read-secret-files.ts'
import { readSettings, type SettingProblem, type Settings, type SettingsReading } from './read-settings.ts'

/**
 * Reads the settings of this process from the command line, its environment, and `./.env` if it exists. Returns problems and
 * never throws.
 */
export function loadSettings(commandLine: Readonly<Record<string, string | undefined>> = {}): SettingsReading {
  const { texts, problem } = readEnvFile('.env')
  const { environment, problems } = readSecretFiles(process.env)
  const reading = readSettings({ commandLine, environment, envFile: texts })
  const before = [...(problem === null ? [] : [problem]), ...problems]
  return before.length === 0 ? reading : { ...reading, problems: [...before, ...reading.problems], settings: null }
}

/** The settings, or a refusal that lists all mistakes, one in a line. */
export function settingsOf(reading: SettingsReading): Settings {
  if (reading.settings) return reading.settings
  const [first, ...others] = reading.problems
  const code = first && others.length === 0 ? first.code : 'setting_invalid'
  throw new Refusal(code, reading.problems.map(({ sentence }) => sentence).join('\n'), first?.setting ?? null)
}

interface EnvFile {
  readonly texts: Record<string, string | undefined>
  readonly problem: SettingProblem | null
}

function readEnvFile(path: string): EnvFile {
  try {
    const decoded = decodeText(readFileSync(path))
    return 'wrong' in decoded ? refusedFile(`The file ${path} ${decoded.wrong}`) : parseLines(path, decoded.text)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ENOENT') return { texts: {}, problem: null }
    return refusedFile(
      `The file ${path} cannot be read (${code || 'unknown cause'}). Check its permissions, or remove it.`,
    )
  }
}

/**
 * Each line must be one setting. `parseEnv` silently skips lines that it cannot read, and an unclosed quote swallows the
 * lines after it. Sentences do not repeat a line, because it may contain a secret.
 */
function parseLines(path: string, text: string): EnvFile {
  const texts: Record<string, string | undefined> = {}
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const value = /^\s*(?:export\s+)?[A-Za-z_][\w.-]*\s*=\s*(.*)$/.exec(line)?.[1]
    if (value === undefined)
      return refusedFile(
        `Line ${index + 1} of the file ${path} is no setting: write NAME=value, or # before a comment.`,
      )
    if (/^["'`]/.test(value) && !/^(["'`])(?:(?!\1).)*\1\s*(?:#.*)?$/.test(value))
      return refusedFile(
        `Line ${index + 1} of the file ${path} has a quote that is not closed at the end of the value: close it in the same line.`,
      )
    Object.assign(texts, parseEnv(line))
  }
  return { texts, problem: null }
}

function refusedFile(sentence: string): EnvFile {
  return { texts: {}, problem: { setting: null, code: 'setting_invalid', sentence } }
}
