import { explainReason, REASONS } from '../../src/core/reasons.ts'
import { FACT_EXAMPLES, type FactName, type ReasonRow, type SentenceFacts } from '../../src/core/sentences/texts.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/reasons.md. */
export function makeReasonsPage(): string {
  const rows = Object.entries<ReasonRow>(REASONS).flatMap(([code, row]) => [
    tableRow(code, {}),
    ...(row.causes ?? []).map(({ when, example }) =>
      tableRow(code, { state: when.state ?? null, words: example ?? null, facts: examplesFor(row, when.fact) }),
    ),
  ])
  return `# Reasons

Every message that waits says why, and every one that was not sent or perhaps not sent says how that came. The codes are stable. One
code may have several causes: each has a row. The console, \`nuncio message explain ID\` and webhooks say these sentences with the
numbers, names and times of the message; its network's own words are beside them.

${markdownTable(['Code', 'In lists', 'Means', 'What to do', 'At the command line'], rows)}
`
}

/** Example facts for the sentence of this cause, without facts of other causes, which would hide it. */
function examplesFor({ causes = [] }: ReasonRow, fact: FactName | undefined): SentenceFacts {
  if (fact === undefined) return {}
  const others = new Set<string>(['words', ...causes.flatMap(({ when }) => when.fact ?? [])])
  const usual = Object.entries(FACT_EXAMPLES).filter(([name]) => !others.has(name))
  return { ...Object.fromEntries(usual), [fact]: FACT_EXAMPLES[fact] }
}

function tableRow(
  code: string,
  context: { readonly state?: string | null; readonly words?: string | null; readonly facts?: SentenceFacts },
): string[] {
  const { list, cause, nextStep, command } = explainReason(code, context)
  return [`\`${code}\``, list, cause, nextStep, command === null ? '' : `\`${command}\``]
}
