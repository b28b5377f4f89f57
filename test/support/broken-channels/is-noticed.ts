import type { Suite } from '../../conformance/channel/channel-world.ts'

export type SuitePart<World> = (suite: Suite, newWorld: () => Promise<World>) => void

interface Proof {
  readonly name: string
  readonly prove: () => Promise<void>
}

const AT_ONCE = 6

/**
 * Whether a proof of these parts fails. The first parts are tried first. Several proofs run at a time, because most only wait.
 */
export async function isNoticed<World>(
  parts: readonly SuitePart<World>[],
  newWorld: () => Promise<World>,
): Promise<boolean> {
  const proofs = parts.flatMap((part) => proofsOf(part, newWorld))
  for (let from = 0; from < proofs.length; from += AT_ONCE) {
    const ends = await Promise.allSettled(proofs.slice(from, from + AT_ONCE).map(({ prove }) => prove()))
    if (ends.some(({ status }) => status === 'rejected')) return true
  }
  return false
}

export function proofsOf<World>(part: SuitePart<World>, newWorld: () => Promise<World>): readonly Proof[] {
  const proofs: Proof[] = []
  part({ it: (name, prove) => proofs.push({ name, prove }) }, newWorld)
  return proofs
}
