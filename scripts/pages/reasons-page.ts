import { REASONS, REASONS_IF_FAILED, type ReasonCode } from '../../src/core/reasons.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries(REASONS).flatMap(([code, [sentence, nextStep]]) => {
    const [ifFailed, nextStepIfFailed] = REASONS_IF_FAILED[code as ReasonCode] ?? []
    const row = [`\`${code}\``, sentence, nextStep]
    return ifFailed && nextStepIfFailed
      ? [row, [`\`${code}\` of a message that is FAILED`, ifFailed, nextStepIfFailed]]
      : [row]
  })
  return `# Reasons

Every message that waits says why, and every one that was not sent or perhaps not sent says how that came. The codes are stable. The
network's own words are beside them in the console and in \`nuncio message explain ID\`.

${markdownTable(['Code', 'Means', 'What to do'], rows)}
`
}
