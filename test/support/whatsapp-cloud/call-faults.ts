import type { Random } from '../black-box/random.ts'
import { GraphError } from './graph-error.ts'
import type { FaultKind, FaultShare, Refusing, RequestKind } from './simulator-types.ts'

interface Call {
  readonly kind: RequestKind
  readonly waId: string | null
}

interface Planned<What> {
  readonly what: What
  readonly share: FaultShare
  left: number
}

export interface DrawnFault {
  readonly kind: FaultKind
  readonly delayMs: number
}

const SLOW_MS = 3_000

/** Decides which calls fail, and how. */
export class CallFaults {
  readonly #random: Random
  readonly #faults: Planned<FaultKind>[] = []
  readonly #refusals: Planned<Refusing>[] = []

  constructor(random: Random) {
    this.#random = random
  }

  add(kind: FaultKind, share: FaultShare): void {
    this.#faults.push({ what: kind, share, left: share.times ?? Number.POSITIVE_INFINITY })
  }

  refuse(refusing: Refusing): void {
    this.#refusals.push({ what: refusing, share: refusing, left: refusing.times ?? Number.POSITIVE_INFINITY })
  }

  clear(): void {
    this.#faults.length = 0
    this.#refusals.length = 0
  }

  drawFault(call: Call): DrawnFault | null {
    const drawn = this.#draw(this.#faults, call)
    return drawn && { kind: drawn.what, delayMs: drawn.share.delayMs ?? SLOW_MS }
  }

  drawRefusal(call: Call): GraphError | null {
    const drawn = this.#draw(this.#refusals, call)?.what
    if (!drawn) return null
    return new GraphError(drawn.code, {
      ...(drawn.httpStatus === undefined ? {} : { status: drawn.httpStatus }),
      ...(drawn.details === undefined ? {} : { details: drawn.details }),
    })
  }

  #draw<What>(planned: readonly Planned<What>[], call: Call): Planned<What> | null {
    for (const one of planned) {
      const { to, on = 'messages', rate = 1 } = one.share
      const isMeant = one.left > 0 && on === call.kind && (to === undefined || digitsOf(to) === call.waId)
      if (!isMeant || (rate < 1 && this.#random.next() >= rate)) continue
      one.left -= 1
      return one
    }
    return null
  }
}

export function digitsOf(number: string): string {
  return number.replace(/\D/g, '')
}
