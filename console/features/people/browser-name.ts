const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** The name of a browser for people. A user agent may say anything, so this is a hint and no proof. */
export function browserName(userAgent: string | null): string {
  const browser = nameOf(BROWSERS, userAgent ?? '')
  const system = nameOf(SYSTEMS, userAgent ?? '')
  if (browser && system) return `${browser} on ${system}`
  return browser ?? system ?? 'Unknown browser'
}

function nameOf(known: readonly (readonly [RegExp, string])[], text: string): string | null {
  return known.find(([pattern]) => pattern.test(text))?.[1] ?? null
}
