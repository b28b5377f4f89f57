/** How many messages were removed from a lane, by their new state. */
export interface TakenOut {
  readonly cancelled: number
  /** Sent before with an unknown result: they may have arrived, so they are not called cancelled. */
  readonly unconfirmed: number
}

export const NONE_TAKEN_OUT: TakenOut = { cancelled: 0, unconfirmed: 0 }

export function addTakenOut(one: TakenOut, other: TakenOut): TakenOut {
  return { cancelled: one.cancelled + other.cancelled, unconfirmed: one.unconfirmed + other.unconfirmed }
}
