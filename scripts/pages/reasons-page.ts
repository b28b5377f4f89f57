import { REASONS } from '../../src/core/reasons.ts'

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries(REASONS).map(
    ([code, [sentence, nextStep]]) => `| \`${code}\` | ${cell(sentence)} | ${cell(nextStep)} |`,
  )
  return `# Reasons

Every message that waits says why, and every one that ended otherwise than well says how. The codes are stable; the
network's own words stand beside them in \`nuncio message explain ID\`.

| Code | Means | What to do |
|---|---|---|
${rows.join('\n')}
`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
