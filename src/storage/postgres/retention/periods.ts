import type { Sequence } from '../../../core/message/message.ts'

/** A sequence is the number of its period times this, and a count in that period: see functions/periods.sql. */
export const PERIOD_LENGTH = 2 ** 40

export function periodOf(sequence: Sequence): number {
  return Math.floor(sequence / PERIOD_LENGTH)
}
