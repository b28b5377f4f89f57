/**
 * A short table of what a run did, for people and for docs/guarantees.md. No row begins with its name: `FAILED`, a state, at
 * the beginning of a line is what a reader of the output of CI searches for.
 */
export function printTable(title: string, facts: Readonly<Record<string, string | number>>): void {
  const width = Math.max(...Object.keys(facts).map((name) => name.length))
  const rows = Object.entries(facts).map(([name, value]) => `  · ${name.padEnd(width)}  ${value}`)
  process.stdout.write(`${[title, ...rows].join('\n')}\n`)
}
