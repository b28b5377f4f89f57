import { REASONS } from '../../src/core/reasons.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries(REASONS).map(([code, [sentence, nextStep]]) => [`\`${code}\``, sentence, nextStep])
  return `# Reasons

Every message that waits says why, and every one that ended otherwise than well says how. The codes are stable; the
network's own words stand beside them in \`nuncio message explain ID\`.

${markdownTable(['Code', 'Means', 'What to do'], rows)}
`
}
