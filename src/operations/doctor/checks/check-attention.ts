import { commandLine } from '../../../core/command-line.ts'
import { withCommand } from '../../../core/reasons.ts'
import { renderRemedy } from '../../../core/render-remedy.ts'
import { explainWait } from '../../../core/sentences/explain-wait.ts'
import { counted } from '../../../format/counted.ts'
import { type Attention, findAttention } from '../../find-attention.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, skipped, warning } from '../finding.ts'

const NAMED = 3

export async function checkAttention({ openSession, now }: Examination): Promise<readonly CheckResult[]> {
  const session = await openSession()
  if (!session) return [skipped('There is no database to check.')]
  return assessAttention(await findAttention(session, null, now()))
}

/** Pure. `nuncio attention` lists all of it; here it is counted. */
export function assessAttention({ hold, unconfirmed, status, tokens }: Attention): readonly CheckResult[] {
  const found: CheckResult[] = []
  if (hold)
    found.push(
      warning(
        `All lanes are held, and no attempt begins: ${hold.reason}`,
        `When what it says is settled: ${commandLine`hold --release`}`,
        { since: new Date(hold.since).toISOString() },
      ),
    )
  if (unconfirmed.length > 0)
    found.push(
      warning(
        `${counted(unconfirmed.length, 'message is', 'messages are')} unconfirmed: it is unknown whether ${unconfirmed.length === 1 ? 'it' : 'they'} arrived.`,
        `See ${commandLine`attention`}, ask the recipients, and settle each with ${commandLine`message resolve`}.`,
        { unconfirmed: unconfirmed.length },
      ),
    )
  const waiting = status.reduce((sum, lane) => sum + lane.waiting, 0)
  for (const lane of status.slice(0, NAMED)) {
    const { number, reason, reasonWords, waiting: own } = lane
    const explained = explainWait(lane, { reason: reason ?? '', words: reasonWords })
    found.push(
      warning(
        `${number} sends nothing, and ${counted(own, 'message waits', 'messages wait')}: ${explained.cause}`,
        renderRemedy(withCommand(explained), { number }),
        {
          number,
          reason,
          waiting: own,
        },
      ),
    )
  }
  if (status.length > NAMED)
    found.push(
      warning(
        `${counted(status.length - NAMED, 'more lane stands', 'more lanes stand')} still.`,
        `See ${commandLine`attention`}.`,
        {
          lanes: status.length,
          waiting,
        },
      ),
    )
  if (tokens.length > 0)
    found.push(
      warning(
        `${counted(tokens.length, 'token expires', 'tokens expire')} within two weeks: ${names(tokens.map(({ name }) => `“${name}”`))}.`,
        `Make new ones and hand them out before then: ${commandLine`token create`}`,
        { tokens: tokens.length },
      ),
    )
  return found.length > 0
    ? found
    : [ok('No lane stands still, nothing is unconfirmed, and no token is about to expire.')]
}

function names(all: readonly string[]): string {
  const more = all.length - NAMED
  return all.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
