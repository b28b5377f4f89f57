import { REFUSALS } from '../../src/core/refusals.ts'

/** The text of docs/refusals.md. */
export function makeRefusalsPage(): string {
  const rows = Object.entries(REFUSALS).map(
    ([code, sentence]) => `| \`${code}\` | ${sentence.replaceAll('|', '\\|')} |`,
  )
  return `# Refusals

Every error that is expected has a code. It stands in \`data.errors[].code\` of a reply of the endpoint, in brackets at the
end of an error of the command line, and never changes its meaning. The sentence is often more exact than the one here.

| Code | What it says |
|---|---|
${rows.join('\n')}
`
}
