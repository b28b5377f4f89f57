/**
 * Prints a short table of what a run did, for people and for docs/guarantees.md. Rows are indented: one of the names is `FAILED`,
 * a state, and readers of CI output search for that word at the start of a line.
 */
export function printTable(title: string, facts: Readonly<Record<string, string | number>>): void {
  const width = Math.max(...Object.keys(facts).map((name) => name.length))
  const rows = Object.entries(facts).map(([name, value]) => `  · ${name.padEnd(width)}  ${value}`)
  process.stdout.write(`${[title, ...rows].join('\n')}\n`)
}
