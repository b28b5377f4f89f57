import { join } from 'node:path'
import type { RefusalCode } from '../core/refusals.ts'
import { daysText, isLonger } from '../core/retention/retention-times.ts'
import type { DatabaseChoice } from './database-url.ts'
import type { Setting } from './setting.ts'
import { ROLES } from './setting-kinds.ts'
import { SETTINGS, type SettingKey, type SettingValues } from './settings.ts'

/** Every setting as the service uses it. */
export type Settings = Omit<SettingValues, DatabaseKey | 'publicUrl' | 'keyRingFile'> & {
  readonly database: DatabaseSettings
  readonly keyRingFile: string
  readonly publicUrl: string
}

export type DatabaseSettings =
  | Extract<DatabaseChoice, { engine: 'sqlite' }>
  | (Extract<DatabaseChoice, { engine: 'postgres' }> & {
      /** The same database, not through a pooler. */
      readonly listenUrl: string
      /** The same database, as a user who may change its tables. */
      readonly migrateUrl: string
    })

type DatabaseKey = 'databaseUrl' | 'databaseListenUrl' | 'databaseMigrateUrl'

/** The last one: a variable that other programs share. */
type SettingSource = 'default' | 'command line' | 'environment' | '.env file' | `OTEL_${string}`

export interface SettingProblem {
  /** Null when the problem concerns no single setting. */
  readonly setting: string | null
  readonly code: RefusalCode
  /** What is wrong, where, and how to fix it. */
  readonly sentence: string
}

export interface SettingReading {
  readonly name: string
  /** The text for people: secrets are masked, empty means none. */
  readonly value: string
  readonly source: SettingSource
  readonly default: string
  readonly secret: boolean
  readonly purpose: string
  readonly problem: SettingProblem | null
}

export interface SettingsReading {
  readonly readings: readonly SettingReading[]
  readonly problems: readonly SettingProblem[]
  /** Warnings for every start about settings that are dangerous in production. */
  readonly warnings: readonly string[]
  /** A sentence for each name that resembles a setting and is none. */
  readonly unknown: readonly string[]
  /** Null while there is a problem. */
  readonly settings: Settings | null
}

/** Texts by name, as they were found. */
interface SettingTexts {
  /** Given to this one call. */
  readonly commandLine?: Readonly<Record<string, string | undefined>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly envFile: Readonly<Record<string, string | undefined>>
}

/** Turns texts into settings. Pure; collects every mistake instead of stopping at the first. */
export function readSettings(texts: SettingTexts): SettingsReading {
  const values: Partial<Record<SettingKey, unknown>> = {}
  const found = (Object.keys(SETTINGS) as SettingKey[]).map((key) => {
    const entry: Setting<unknown> = SETTINGS[key]
    const own = findText(entry, texts)
    const { found, warning: ignored } = own.source === 'default' ? findShared(entry, texts) : NOT_SHARED
    const { text, source } = found ?? own
    const unset = text === '' && entry.whenUnset !== undefined ? { value: entry.whenUnset } : null
    const parsed = found ?? unset ?? entry.kind.parse(text)
    if ('wrong' in parsed)
      return { key, entry, text, source, problem: problemOf(entry, { text, source }, parsed), warning: null }
    values[key] = parsed.value
    return { key, entry, text, source, problem: null, warning: entry.warning?.(parsed.value) ?? ignored }
  })

  const crossing = findCrossing(values as Partial<SettingValues>)
  const problems = [...found.flatMap(({ problem }) => problem ?? []), ...crossing]
  const settings = problems.length === 0 ? complete(values as SettingValues) : null
  return {
    readings: found.map(({ key, entry, text, source, problem }) => ({
      name: entry.name,
      value: show(entry, text === '' ? derivedText(key, settings) : text),
      source,
      default: entry.default === '' ? (entry.otherwise ?? '') : entry.default,
      secret: entry.secret,
      purpose: entry.purpose,
      problem: problem ?? crossing.find(({ setting }) => setting === entry.name) ?? null,
    })),
    problems,
    warnings: found.flatMap(({ warning }) => warning ?? []),
    unknown: findUnknown(texts),
    settings,
  }
}

interface FoundText {
  readonly text: string
  readonly source: SettingSource
}

function problemOf(
  entry: Setting<unknown>,
  { text, source }: FoundText,
  parsed: { readonly wrong: string; readonly code?: RefusalCode },
): SettingProblem {
  const given = entry.secret ? '' : ` ${JSON.stringify(show(entry, text).slice(0, 80))}`
  const sentence = `The setting ${entry.name}${given} (${source}) is wrong: ${parsed.wrong}`
  return { setting: entry.name, code: parsed.code ?? 'setting_invalid', sentence }
}

function findText(entry: Setting<unknown>, texts: SettingTexts): FoundText {
  const given = texts.commandLine?.[entry.name]
  if (given !== undefined) return { text: given.trim(), source: 'command line' }
  // An empty variable counts as not set: that is what a line `NAME=` in a service file or a shell usually means.
  const environment = texts.environment[entry.name]?.trim()
  if (environment) return { text: environment, source: 'environment' }
  const envFile = texts.envFile[entry.name]?.trim()
  if (envFile) return { text: envFile, source: '.env file' }
  return { text: entry.default, source: 'default' }
}

interface Shared {
  readonly found: (FoundText & { readonly value: unknown }) | null
  readonly warning: string | null
}

const NOT_SHARED: Shared = { found: null, warning: null }

/** A variable that is meant for all programs of the machine must not keep this one from starting. */
function findShared(entry: Setting<unknown>, { environment, envFile, commandLine }: SettingTexts): Shared {
  const given = { ...envFile, ...environment, ...commandLine }
  const variable = entry.shared?.find(({ name, counts }) => environment[name]?.trim() && counts(given))
  const text = variable && environment[variable.name]?.trim()
  if (!variable || !text) return NOT_SHARED
  const parsed = variable.parse(text)
  if ('wrong' in parsed)
    return { found: null, warning: `${variable.name} is not used for ${entry.name}: ${parsed.wrong}` }
  return { found: { text, source: variable.name, value: parsed.value }, warning: null }
}

/** Mistakes in the combination of settings. */
function findCrossing(values: Partial<SettingValues>): SettingProblem[] {
  return [
    findSmallSpool(values),
    findLongBodies(values),
    ...findHalfTls(values),
    ...findNeedsOfPostgres(values),
  ].filter((problem) => problem !== null)
}

function findSmallSpool(values: Partial<SettingValues>): SettingProblem | null {
  const spool = values.mediaSpoolBytesPerAccount
  if (spool === undefined) return null
  const largest = (
    ['mediaMaxImageBytes', 'mediaMaxAudioBytes', 'mediaMaxVideoBytes', 'mediaMaxDocumentBytes'] as const
  ).find((key) => (values[key] ?? 0) > spool)
  if (!largest) return null
  const { name } = SETTINGS.mediaSpoolBytesPerAccount
  const sentence = `${name} is smaller than ${SETTINGS[largest].name}, so such a file could never be fetched. Raise the first or lower the second.`
  return { setting: name, code: 'setting_invalid', sentence }
}

function findHalfTls({ tlsCertFile, tlsKeyFile, publicUrl }: Partial<SettingValues>): SettingProblem[] {
  // Undefined: the setting itself is wrong.
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return []
  const [cert, key] = [SETTINGS.tlsCertFile.name, SETTINGS.tlsKeyFile.name]
  if ((tlsCertFile === null) !== (tlsKeyFile === null)) {
    const [there, missing] = tlsCertFile === null ? [key, cert] : [cert, key]
    const sentence = `${there} is set and ${missing} is not: the service speaks https with both, and plain HTTP with neither.`
    return [{ setting: missing, code: 'setting_invalid', sentence }]
  }
  if (tlsCertFile === null || !publicUrl?.startsWith('http://')) return []
  const sentence = `NUNCIO_PUBLIC_URL begins with http://, but ${cert} makes the service speak https: write https://, or take the certificate away.`
  return [{ setting: 'NUNCIO_PUBLIC_URL', code: 'setting_invalid', sentence }]
}

/** Data of a message must not be kept longer than the message. */
function findLongBodies({
  retentionBodiesDays: bodies,
  retentionMessagesDays: messages,
}: Partial<SettingValues>): SettingProblem | null {
  if (bodies === undefined || messages === undefined || !isLonger(bodies, messages)) return null
  const { name } = SETTINGS.retentionBodiesDays
  const sentence = `${name} (${daysText(bodies)}) is longer than ${SETTINGS.retentionMessagesDays.name} (${daysText(messages)}), but texts go with their messages at the latest. Lower the first or raise the second.`
  return { setting: name, code: 'setting_invalid', sentence }
}

/** On SQLite one process serves and does everything. */
function findNeedsOfPostgres(values: Partial<SettingValues>): SettingProblem[] {
  const { databaseUrl, roles, processes } = values
  // Undefined: the URL itself is invalid, so the engine is unknown.
  if (databaseUrl === undefined || databaseUrl?.engine === 'postgres') return []
  const problems: SettingProblem[] = []
  const refuse = (key: SettingKey, why: string, otherwise: string) => {
    const { name } = SETTINGS[key]
    const remedy = `Set ${SETTINGS.databaseUrl.name} to a postgres:// URL, or ${otherwise}.`
    problems.push({ setting: name, code: 'setting_invalid', sentence: `${name} ${why} ${remedy}` })
  }
  for (const key of ['databaseListenUrl', 'databaseMigrateUrl'] as const) {
    if (values[key]) refuse(key, 'has a meaning on PostgreSQL only, but the database is SQLite.', 'take it away')
  }
  const missing = ROLES.filter((role) => roles?.includes(role) === false)
  if (missing.length > 0)
    refuse('roles', `leaves out ${missing.join(' and ')}, but on SQLite one process does everything.`, 'leave it unset')
  if (processes !== undefined && processes > 1)
    refuse('processes', `is ${processes}, but on SQLite one process serves.`, 'leave it at 1')
  return problems
}

function complete(values: SettingValues): Settings {
  const { databaseUrl, databaseListenUrl, databaseMigrateUrl, publicUrl, keyRingFile, ...others } = values
  return {
    ...others,
    database: completeDatabase(values),
    keyRingFile: keyRingFile ?? join(values.dataDir, 'keys', 'key-ring.json'),
    publicUrl: publicUrl ?? localUrl(others, others.port),
  }
}

function completeDatabase(values: SettingValues): DatabaseSettings {
  const { databaseUrl, databaseListenUrl, databaseMigrateUrl, dataDir } = values
  if (databaseUrl?.engine !== 'postgres') return databaseUrl ?? { engine: 'sqlite', path: join(dataDir, 'nuncio.db') }
  const { url } = databaseUrl
  return { ...databaseUrl, listenUrl: databaseListenUrl ?? url, migrateUrl: databaseMigrateUrl ?? url }
}

/** The URL of a service that listens here, for this machine. */
export function localUrl({ host, tlsCertFile }: Pick<SettingValues, 'host' | 'tlsCertFile'>, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${tlsCertFile === null ? 'http' : 'https'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

function derivedText(key: SettingKey, settings: Settings | null): string {
  if (key === 'publicUrl') return settings?.publicUrl ?? ''
  if (key === 'keyRingFile') return settings?.keyRingFile ?? ''
  if (key === 'databaseUrl' && settings?.database.engine === 'sqlite') return `sqlite:${settings.database.path}`
  return ''
}

function show(entry: Setting<unknown>, text: string): string {
  if (entry.secret) return text === '' ? '' : '********'
  return entry.kind.show?.(text) ?? text.replace(/:\/\/[^/@]*@/, '://********@')
}

function findUnknown(texts: SettingTexts): string[] {
  const known = Object.values(SETTINGS).map((entry) => entry.name as string)
  const given = [
    ...Object.keys(texts.environment).map((name) => ({ name, where: 'environment' })),
    ...Object.keys(texts.envFile).map((name) => ({ name, where: '.env file' })),
  ]
  return given
    .filter(({ name }) => /^nuncio_/i.test(name) && !known.includes(name))
    .map(({ name, where }) => {
      const nearest = nearestSetting(name, known)
      return `${name} (${where}) is no setting of Nuncio and is ignored.${nearest ? ` Did you mean ${nearest}?` : ''}`
    })
}

/** Compared without the prefix that all names share, which would make any two names similar. */
function nearestSetting(name: string, known: readonly string[]): string | null {
  const nearest = nearestName(withoutStart(name.toUpperCase()), known.map(withoutStart))
  return nearest && START + nearest
}

const START = 'NUNCIO_'

function withoutStart(name: string): string {
  return name.slice(START.length)
}

/** The candidate that differs least from what was written, or null when none is near enough to be meant. */
function nearestName(written: string, candidates: readonly string[]): string | null {
  let best: { candidate: string; distance: number } | null = null
  for (const candidate of candidates) {
    const distance = editDistance(written, candidate)
    if (!best || distance < best.distance) best = { candidate, distance }
  }
  return best && best.distance <= Math.max(2, written.length / 3) ? best.candidate : null
}

/** How many letters must be put in, taken out or changed to make one text of the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const changed = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next[j] = Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1)
    }
    row = next
  }
  return row[to.length] ?? 0
}
