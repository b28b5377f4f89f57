// Variables about the user and about authentication. All others could change what a program reads and writes, or where: a
// backup with PGCLIENTENCODING=LATIN1 fails at the first emoji.
const KEPT = /^PG(USER|PASSWORD|PASSFILE|SSL\w*|GSS\w*|KRBSRVNAME|CHANNELBINDING|REQUIREAUTH)$/

/** The environment of a program of PostgreSQL: that of this process without its settings for other programs, in UTF-8. */
export function postgresEnvironment(added: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') || KEPT.test(name))
  return { ...Object.fromEntries(kept), PGCLIENTENCODING: 'UTF8', ...added }
}
