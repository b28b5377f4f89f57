import type { TakenOut } from '../ports/administration.ts'

export const NONE_TAKEN_OUT: TakenOut = { cancelled: 0, unconfirmed: 0 }

export function addTakenOut(one: TakenOut, other: TakenOut): TakenOut {
  return { cancelled: one.cancelled + other.cancelled, unconfirmed: one.unconfirmed + other.unconfirmed }
}
