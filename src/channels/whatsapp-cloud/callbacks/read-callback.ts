import type { Instant } from '../../../core/ids.ts'
import type { NumberChange, Report, ReportedStatus, ReportedWriter } from '../statuses/reported.ts'
import type { IgnoredReason } from './ignored-reason.ts'
import { instantOf, listOf, numberOf, objectOf, textOf } from './payload-parsers.ts'
import { readStatus } from './read-status.ts'

/** Which number at Meta a part is about: the messages field names an id, the others a business account and perhaps a number. */
export type About =
  | { readonly phoneNumberId: string }
  | { readonly businessAccountId: string; readonly number: string | null }

export interface ReadPart {
  readonly about: About
  readonly report: Report
}

interface ReadCallback {
  readonly parts: readonly ReadPart[]
  readonly ignored: ReadonlyMap<IgnoredReason, number>
}

/** What all changes of an entry are about, as far as it can be read. */
interface EntryHead {
  readonly businessAccountId: string | null
  readonly at: Instant | null
}

// A body of 3 MB holds about 6,000 statuses as Meta writes them. A body with more is not Meta's.
const MOST_REPORTS = 30_000
// Meta sends them one by one, and each is for all numbers of a business account.
const MOST_CHANGES = 100
const NONE: Report = { statuses: [], writers: [], numbers: [] }

/**
 * The known content of a callback. Everything else is skipped and counted: a new or malformed field
 * must not keep the others from being read. Pure, and never throws.
 */
export function readCallback(body: unknown): ReadCallback {
  const reading = new Reading()
  const callback = objectOf(body)
  if (callback?.['object'] === 'whatsapp_business_account') {
    for (const entry of listOf(callback['entry'])) reading.readEntry(entry)
  } else reading.ignore('not_an_account')
  return { parts: reading.parts, ignored: reading.ignored }
}

class Reading {
  readonly parts: ReadPart[] = []
  readonly ignored = new Map<IgnoredReason, number>()
  #reports = 0
  #changes = 0

  ignore(reason: IgnoredReason): void {
    this.ignored.set(reason, (this.ignored.get(reason) ?? 0) + 1)
  }

  readEntry(given: unknown): void {
    const entry = objectOf(given)
    if (!entry) {
      this.ignore('part_malformed')
      return
    }
    const of = { businessAccountId: textOf(entry['id'], 64), at: instantOf(entry['time']) }
    for (const change of listOf(entry['changes'])) this.#readChange(change, of)
  }

  #readChange(given: unknown, of: EntryHead): void {
    const change = objectOf(given)
    const value = objectOf(change?.['value'])
    if (!change || !value) {
      this.ignore('part_malformed')
      return
    }
    switch (change['field']) {
      case 'messages':
        this.#readMessages(value)
        break
      case 'phone_number_quality_update':
        this.#readQuality(value, of)
        break
      case 'account_update':
        this.#readAccount(value, of)
        break
      default:
        this.ignore('field_unknown')
    }
  }

  #readMessages(value: Readonly<Record<string, unknown>>): void {
    const phoneNumberId = textOf(objectOf(value['metadata'])?.['phone_number_id'], 64)
    if (phoneNumberId === null) {
      this.ignore('part_malformed')
      return
    }
    const statuses = this.#each(value['statuses'], readStatus)
    const writers = this.#each(value['messages'], readWriter)
    if (statuses.length + writers.length > 0)
      this.parts.push({ about: { phoneNumberId }, report: { ...NONE, statuses, writers } })
  }

  #each<T extends ReportedStatus | ReportedWriter>(
    given: unknown,
    read: (one: unknown) => T | IgnoredReason,
  ): readonly T[] {
    const report: T[] = []
    for (const one of listOf(given)) {
      const result = this.#reports < MOST_REPORTS ? read(one) : 'too_many'
      this.#reports += 1
      if (typeof result === 'string') this.ignore(result)
      else report.push(result)
    }
    return report
  }

  #addChange(about: About, change: NumberChange): void {
    this.#changes += 1
    if (this.#changes > MOST_CHANGES) this.ignore('too_many')
    else this.parts.push({ about, report: { ...NONE, numbers: [change] } })
  }

  /** As the page of the phone_number_quality_update webhook has it; it names the number, not its id. */
  #readQuality(value: Readonly<Record<string, unknown>>, { businessAccountId, at }: EntryHead): void {
    const number = textOf(value['display_phone_number'], 32)?.replaceAll(/\D/g, '') ?? ''
    const event = wordOf(value['event'])
    if (businessAccountId === null || number === '' || event === null) {
      this.ignore('part_malformed')
      return
    }
    const messagingLimit = wordOf(value['max_daily_conversations_per_business']) ?? wordOf(value['current_limit'])
    const change: NumberChange = {
      at,
      ...((event === 'FLAGGED' || event === 'UNFLAGGED') && { quality: event }),
      ...(event === 'THROUGHPUT_UPGRADE' && { throughput: 'HIGH' as const }),
      ...(messagingLimit !== null && { messagingLimit }),
    }
    this.#addChange({ businessAccountId, number }, change)
  }

  /** As the page of the account_update webhook has it: of the whole business account, with all its numbers. */
  #readAccount(value: Readonly<Record<string, unknown>>, { businessAccountId, at }: EntryHead): void {
    const event = wordOf(value['event'])
    if (businessAccountId === null || event === null) {
      this.ignore('part_malformed')
      return
    }
    this.#addChange({ businessAccountId, number: null }, { at, account: event })
  }
}

function readWriter(given: unknown): ReportedWriter | IgnoredReason {
  const message = objectOf(given)
  if (!message) return 'part_malformed'
  // A person who hides their number has written too, but we never send to a person without a number.
  const from = numberOf(message['from'])
  return from === null ? 'not_ours' : { from, at: instantOf(message['timestamp']) }
}

/** A word of Meta's for people, such as TIER_10K. */
function wordOf(given: unknown): string | null {
  const text = textOf(given, 64)
  return text !== null && /^[A-Z0-9_]+$/.test(text) ? text : null
}
