import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { Refusal } from '../core/refusals.ts'
import { readSecretFiles } from './read-secret-files.ts'
import { readSettings, type SettingProblem, type Settings, type SettingsReading } from './read-settings.ts'

/**
 * Reads the settings of this process: what this call was given, its environment, and `./.env` where there is one. Never
 * throws for what it finds.
 */
export function loadSettings(commandLine: Readonly<Record<string, string | undefined>> = {}): SettingsReading {
  const { texts, problem } = readEnvFile('.env')
  const { environment, problems } = readSecretFiles(process.env)
  const reading = readSettings({ commandLine, environment, envFile: texts })
  const before = [...(problem === null ? [] : [problem]), ...problems]
  return before.length === 0 ? reading : { ...reading, problems: [...before, ...reading.problems], settings: null }
}

/** The settings, or a refusal that tells all mistakes at once, one in a line. */
export function settingsOf(reading: SettingsReading): Settings {
  if (reading.settings) return reading.settings
  const [first, ...others] = reading.problems
  const code = first && others.length === 0 ? first.code : 'setting_invalid'
  throw new Refusal(code, reading.problems.map(({ sentence }) => sentence).join('\n'), first?.setting ?? null)
}

function readEnvFile(path: string): { texts: Record<string, string | undefined>; problem: SettingProblem | null } {
  try {
    return { texts: parseEnv(readFileSync(path, 'utf8')), problem: null }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ENOENT') return { texts: {}, problem: null }
    const sentence = `The file ${path} cannot be read (${code || 'unknown cause'}). Check its permissions, or remove it.`
    return { texts: {}, problem: { setting: null, code: 'setting_invalid', sentence } }
  }
}
