import { commandLine } from '../../../core/command-line.ts'
import { type AttentionItem, findAttention } from '../../../core/find-attention.ts'
import type { HoldView } from '../../../core/ports/administration.ts'
import { counted } from '../../../format/counted.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, skipped, warning } from '../finding.ts'

const NAMED = 3

export async function checkAttention({ openSession, now }: Examination): Promise<readonly CheckResult[]> {
  const session = await openSession()
  if (!session) return [skipped('There is no database to check.')]
  const { administration } = session
  const accountIds = (await administration.listAccounts()).map(({ id }) => id)
  const alarmsOf = { accountId: null, seesInstallation: true }
  const items = await findAttention(session, { accountIds, alarmsOf, now: now() })
  return assessAttention({
    hold: await administration.readHold(),
    unconfirmed: (await administration.listUnresolved(null)).length,
    items: items.filter(({ seen, alarm }) => seen === null && !COUNTED_HERE.has(alarm?.kind ?? '')),
  })
}

const COUNTED_HERE: ReadonlySet<string> = new Set(['lanes_held', 'unconfirmed'])

interface Found {
  readonly hold: HoldView | null
  readonly unconfirmed: number
  readonly items: readonly Pick<AttentionItem, 'key' | 'title' | 'nextStepByCommand'>[]
}

/** Pure. `nuncio attention` lists all of it; here it is counted. */
export function assessAttention({ hold, unconfirmed, items }: Found): readonly CheckResult[] {
  const found: CheckResult[] = []
  if (hold)
    found.push(
      warning(
        `All lanes are held, and no attempt begins: ${hold.reason}`,
        `When what it says is settled: ${commandLine`hold --release`}`,
        { since: new Date(hold.since).toISOString() },
      ),
    )
  if (unconfirmed > 0)
    found.push(
      warning(
        `${counted(unconfirmed, 'message is', 'messages are')} unconfirmed: it is unknown whether ${unconfirmed === 1 ? 'it' : 'they'} arrived.`,
        `See ${commandLine`attention`}, ask the recipients, and settle each with ${commandLine`message resolve`}.`,
        { unconfirmed },
      ),
    )
  for (const { key, title, nextStepByCommand } of items.slice(0, NAMED))
    found.push(warning(title, nextStepByCommand, { key }))
  const more = items.length - NAMED
  if (more > 0)
    found.push(
      warning(`${counted(more, 'more thing needs', 'more things need')} attention.`, `See ${commandLine`attention`}.`, {
        items: items.length,
      }),
    )
  return found.length > 0 ? found : [ok('Nothing needs attention.')]
}
