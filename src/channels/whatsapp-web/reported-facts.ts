import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { ConnectionFact } from '../../core/ports/channel-onboarding.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import { shortTime } from '../../format/instants.ts'
import { allowanceAt, readFirstContacts } from './first-contacts.ts'
import { readWhatsAppWebSettings, type StoredSettings } from './settings.ts'

type Lock = NonNullable<Awaited<ReturnType<typeof readFirstContacts>>['lock']>

interface Reported {
  readonly memory: Pick<ChannelState, 'list'>
  readonly id: ConnectionId
  readonly settings: StoredSettings
  readonly now: Instant
}

/** How many new recipients a number may still write to, for people to read. */
export async function readReportedFacts({ memory, id, settings, now }: Reported): Promise<readonly ConnectionFact[]> {
  const { firsts, lock } = await readFirstContacts(memory, id)
  const { newRecipientsPerDay: allowed } = readWhatsAppWebSettings(settings)
  const facts: ConnectionFact[] = [newRecipientsFact(firsts, { allowed, now })]
  if (lock && lock.until > now) {
    facts.push({
      label: 'First contacts',
      value: `${lockText(lock, now)}: messages to new recipients wait`,
      tone: 'bad',
    })
  }
  return facts
}

/** An end is shown as WhatsApp's only if WhatsApp has named it. */
function lockText({ until, isSaid, isEndSaid }: Lock, now: Instant): string {
  const end = shortTime(until, now)
  if (isEndSaid) return `Locked by WhatsApp until ${end}`
  const why = isSaid ? 'locks them without saying until when' : 'rejected one'
  return `Held back until ${end}, because WhatsApp ${why}`
}

function newRecipientsFact(
  firsts: ReadonlyMap<string, Instant>,
  { allowed, now }: { readonly allowed: number | null; readonly now: Instant },
): ConnectionFact {
  const label = 'New recipients'
  const { used, nextAt } = allowanceAt(firsts, allowed, now)
  const own = { label, isOwn: true } as const
  if (allowed === null) return { ...own, value: `${used} within 24 hours, without a limit`, tone: 'plain' }
  if (nextAt === null)
    return { ...own, value: `${used} of ${allowed} within 24 hours, ${allowed - used} left`, tone: 'plain' }
  const more = `none left; more is allowed from ${shortTime(nextAt, now)} on`
  return { ...own, value: `${used} of ${allowed} within 24 hours, ${more}`, tone: 'warning' }
}
