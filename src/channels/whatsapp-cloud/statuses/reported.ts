import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { Receipt } from '../../../core/ports/channel.ts'
import type { NumberReport } from './connection-news.ts'

/** What Meta reported about one message. */
export interface ReportedStatus {
  readonly kind: Receipt['kind']
  /** Meta's id of the message. */
  readonly wamid: string
  /** Milliseconds since 1970; null when Meta's time is impossible. */
  readonly at: Instant | null
  /** What we sent along, as it came back; null when nothing did. */
  readonly opaque: string | null
  /** Digits; null when Meta keeps the number to itself. */
  readonly recipient: string | null
  /** Meta's number for the failure; null when it gave none. */
  readonly code: number | null
  readonly words: string | null
}

/** A person wrote to the number, which opens the window for 24 hours. */
export interface ReportedWriter {
  readonly from: string
  readonly at: Instant | null
}

/** What changed about the number. The time is null when Meta's is impossible. */
export type NumberChange = Omit<NumberReport, 'at'> & { readonly at: Instant | null }

/** What a callback reports about one connection. */
export interface Report {
  readonly statuses: readonly ReportedStatus[]
  readonly writers: readonly ReportedWriter[]
  readonly numbers: readonly NumberChange[]
}

/** As it waits in storage until it is applied. */
export interface StoredReports extends Report {
  /** Further connections with the same number at Meta, removed ones: a report may be about what they sent. */
  readonly others: readonly ConnectionId[]
  /** Which applier takes it at once; null: any of them. */
  readonly taker: string | null
  /** When it came from Meta. */
  readonly receivedAt: Instant
  /** How often it was tried and found to be too early. */
  readonly tries: number
}

/** The kind of ChannelState in which they wait. */
export const REPORT_KIND = 'callback'

/** Null for an entry that this version cannot read. Such an entry must not stop those after it. */
export function readStoredReports(value: string): StoredReports | null {
  try {
    const stored = JSON.parse(value) as StoredReports
    const lists: readonly unknown[] = [stored.statuses, stored.writers, stored.numbers, stored.others]
    return lists.every((list) => Array.isArray(list)) ? stored : null
  } catch {
    return null
  }
}
