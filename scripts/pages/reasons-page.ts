import { REASONS, REASONS_IF_FAILED, type ReasonCode } from '../../src/core/reasons.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries(REASONS).flatMap(([code, means]) => {
    const ifFailed = REASONS_IF_FAILED[code as ReasonCode]
    return [[`\`${code}\``, ...means], ...(ifFailed ? [[`\`${code}\` of a message that is FAILED`, ...ifFailed]] : [])]
  })
  return `# Reasons

Every message that waits says why, and every one that ended otherwise than well says how. The codes are stable; the
network's own words stand beside them in \`nuncio message explain ID\`.

${markdownTable(['Code', 'Means', 'What to do'], rows)}
`
}
