import { median } from './statistics.ts'

export interface Top {
  readonly sockets: number
  readonly perSecond: number
}

/** The number of connections with the best median of its turns. */
export function topOf<Turn extends { readonly sockets: number }>(
  turns: readonly Turn[],
  rateOf: (turn: Turn) => number,
): Top {
  const counts = [...new Set(turns.map(({ sockets }) => sockets))]
  const all = counts.map((sockets) => {
    return { sockets, perSecond: median(turns.filter((turn) => turn.sockets === sockets).map(rateOf)) }
  })
  return all.reduce((best, one) => (one.perSecond > best.perSecond ? one : best))
}
