const ENGINES = ['SQLite', 'PostgreSQL'] as const
export type EngineName = (typeof ENGINES)[number]

/**
 * The given engine, or both with `BROWSER_TESTS_ON=both`. One is enough: what a page shows comes from the console's API, whose
 * own tests run on both.
 */
export function enginesOr(one: EngineName): readonly EngineName[] {
  const choice = process.env['BROWSER_TESTS_ON'] || 'one'
  if (choice !== 'one' && choice !== 'both')
    throw new Error(`BROWSER_TESTS_ON is “${choice}”: set it to “one” (the default) or “both”.`)
  return choice === 'both' ? ENGINES : [one]
}
