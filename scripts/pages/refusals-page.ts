import { REPLIES } from '../../src/contract/reply-table.ts'
import { REFUSALS, type RefusalCode } from '../../src/core/refusals.ts'
import { replyOf } from '../../src/http/server/refusal-replies.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/refusals.md. */
export function makeRefusalsPage(): string {
  const codes = Object.keys(REFUSALS) as RefusalCode[]
  const byHttp = codes.filter(leavesByHttp)
  const elsewhere = codes.filter((code) => !leavesByHttp(code))
  return `# Refusals

Every error that is expected has a code. It stands in \`data.errors[].code\` of a reply, in brackets at the end of an error
of the command line, and never changes its meaning. The sentence is often more exact than the one here.

## In replies

\`Retry-After\` is in seconds. How the codes HC-… are meant stands in [the endpoint](api.md).

${markdownTable(['Code', 'HTTP', 'HC', 'Retry-After', 'What it says'], byHttp.map(httpRow))}

## At the command line and at start

${markdownTable(
  ['Code', 'What it says'],
  elsewhere.map((code) => [`\`${code}\``, REFUSALS[code]]),
)}
`
}

/** Whether HTTP has a reply for the code. A code without one would be sent as a fault. */
function leavesByHttp(code: RefusalCode): boolean {
  return code === 'internal_error' || replyOf(code).kind !== 'internal_error'
}

function httpRow(code: RefusalCode): string[] {
  const { kind, status, retryAfterSeconds } = replyOf(code)
  return [`\`${code}\``, String(status), REPLIES[kind].code, String(retryAfterSeconds ?? '–'), REFUSALS[code]]
}
