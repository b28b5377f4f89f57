import { explainReason, REASONS } from '../../src/core/reasons.ts'
import { FACT_EXAMPLES, type FactName, type ReasonRow, type SentenceFacts } from '../../src/core/sentences/texts.ts'
import { markdownTable } from './markdown.ts'

// Each of these makes a cause of its own, which would hide the others.
const {
  words: _,
  who: _who,
  n: _n,
  earlier: _earlier,
  attempts: _attempts,
  refusedN: _refusedN,
  unknowns: _unknowns,
  ...EXAMPLES
} = FACT_EXAMPLES

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries<ReasonRow>(REASONS).flatMap(([code, row]) => [
    tableRow(code, {}),
    ...(row.causes ?? []).map(({ when, example }) => {
      const facts: { [Name in FactName]?: string } =
        when.fact === undefined ? {} : { ...EXAMPLES, who: FACT_EXAMPLES.who, [when.fact]: FACT_EXAMPLES[when.fact] }
      if (when.fact === 'who') facts.n = FACT_EXAMPLES.n
      const context = { state: when.state ?? null, words: example ?? null, facts }
      return tableRow(code, context)
    }),
  ])
  return `# Reasons

Every message that waits says why, and every one that was not sent or perhaps not sent says how that came. The codes are stable. One
code may have several causes: each has a row. The console, \`nuncio message explain ID\` and webhooks say these sentences with the
numbers, names and times of the message; its network's own words are beside them.

${markdownTable(['Code', 'In lists', 'Means', 'What to do', 'At the command line'], rows)}
`
}

function tableRow(
  code: string,
  context: { readonly state?: string | null; readonly words?: string | null; readonly facts?: SentenceFacts },
): string[] {
  const { list, cause, nextStep, command } = explainReason(code, context)
  return [`\`${code}\``, list, cause, nextStep, command === null ? '' : `\`${command}\``]
}
