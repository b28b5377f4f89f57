import { CHECKS, type CheckCode } from './checks.ts'

// Where one thing is wrong a thousand may be, and a person reads a few.
const KEPT = 20

export interface Finding {
  readonly code: CheckCode
  readonly isDamage: boolean
  readonly sentence: string
  readonly nextStep: string
  readonly count: number
  /** The first of them. */
  readonly where: readonly string[]
}

/** Collects findings, and keeps only some of each kind. */
export class Findings {
  readonly #found = new Map<CheckCode, { count: number; where: string[] }>()

  add(code: CheckCode, where: string): void {
    const found = this.#found.get(code) ?? { count: 0, where: [] }
    found.count += 1
    if (found.where.length < KEPT) found.where.push(where)
    this.#found.set(code, found)
  }

  get all(): readonly Finding[] {
    const findings = Array.from(this.#found, ([code, found]): Finding => ({ code, ...CHECKS[code], ...found }))
    return findings.sort((a, b) => Number(b.isDamage) - Number(a.isDamage))
  }
}
