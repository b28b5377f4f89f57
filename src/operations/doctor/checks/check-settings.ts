import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Settings, SettingsReading } from '../../../config/read-settings.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, warning } from '../finding.ts'

const READ_BY_OTHERS = 0o004

export async function checkSettings({ reading, settings }: Examination): Promise<readonly CheckResult[]> {
  return assessSettings(reading, settings, modeOf('.env'))
}

/** Pure. `envFileMode`: null when there is no such file. */
export function assessSettings(
  reading: SettingsReading,
  settings: Settings | null,
  envFileMode: number | null,
): readonly CheckResult[] {
  const { problems, warnings, unknown, readings } = reading
  const found: CheckResult[] = [
    // A problem says itself how to fix it.
    ...problems.map(
      ({ sentence, code }): CheckResult => ({ status: 'problem', sentence, nextStep: null, facts: { code } }),
    ),
    ...unknown.map((sentence) => warning(sentence, 'Correct its name, or remove it.')),
    ...warnings.map((sentence) => warning(sentence, 'Leave it only if you mean it.')),
    ...assessEnvFile(reading, envFileMode),
    ...(settings ? assessAddresses(settings) : []),
  ]
  if (found.length > 0) return found
  const set = readings.filter(({ source }) => source !== 'default').length
  return [ok(`All ${readings.length} settings can be used; ${set} of them differ from their defaults.`, { set })]
}

function assessEnvFile({ readings }: SettingsReading, mode: number | null): CheckResult[] {
  if (mode === null || (mode & READ_BY_OTHERS) === 0) return []
  const secret = readings.find(
    ({ secret: isSecret, source, value }) => source === '.env file' && (isSecret || value.includes('********')),
  )
  if (!secret) return []
  return [
    problem(
      `Every user of this machine may read the file .env, which holds the secret ${secret.name}.`,
      'Close it to them: chmod 600 .env',
      { setting: secret.name },
    ),
  ]
}

function assessAddresses({
  publicUrl,
  host,
  roles,
  trustedProxies,
  consolePlainHttp,
  tlsCertFile,
}: Settings): CheckResult[] {
  const found: CheckResult[] = []
  const { protocol, hostname } = new URL(publicUrl)
  const isLocal = isOfThisMachine(hostname) || isAnyAddress(hostname)
  if (protocol === 'http:' && !isLocal && roles.includes('console') && !consolePlainHttp)
    found.push(
      warning(
        `NUNCIO_PUBLIC_URL is ${publicUrl}, but over plain http the console opens on this machine only.`,
        'Serve it by https and name that address in NUNCIO_PUBLIC_URL.',
      ),
    )
  if (protocol === 'https:' && trustedProxies.length === 0 && tlsCertFile === null)
    found.push(
      warning(
        'NUNCIO_PUBLIC_URL is https, so a proxy must stand in front, but NUNCIO_TRUSTED_PROXIES names none: every caller seems to come from the proxy.',
        'Name its address in NUNCIO_TRUSTED_PROXIES.',
      ),
    )
  if (isAnyAddress(host) && isLocal)
    found.push(
      warning(
        `The service listens on all addresses, but NUNCIO_PUBLIC_URL is ${publicUrl}, which other machines cannot reach.`,
        'Set NUNCIO_PUBLIC_URL to the address that callers and people use, or NUNCIO_HOST to 127.0.0.1.',
      ),
    )
  return found
}

function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '[::]'
}

function isOfThisMachine(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

function modeOf(path: string): number | null {
  try {
    return statSync(path).mode
  } catch {
    return null
  }
}
