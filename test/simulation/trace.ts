/** What happened in a simulated world, and the first broken promise. */
export class Trace {
  readonly #now: () => number
  readonly #startsAt: number
  readonly lines: string[] = []
  violation: { readonly invariant: string; readonly detail: string; readonly line: number } | null = null

  constructor(now: () => number) {
    this.#now = now
    this.#startsAt = now()
  }

  note(who: string, what: string): void {
    this.lines.push(`${((this.#now() - this.#startsAt) / 1000).toFixed(3).padStart(10)} ${who.padEnd(9)} ${what}`)
  }

  violate(invariant: string, detail: string): void {
    if (this.violation) return
    this.note('!!', `${invariant}: ${detail}`)
    this.violation = { invariant, detail, line: this.lines.length - 1 }
  }

  /** The lines before the violation. Lines with one of `words` are taken from further back. */
  around(words: readonly string[], most: number): string[] {
    const end = (this.violation?.line ?? this.lines.length - 1) + 1
    const matching = this.lines
      .slice(0, end)
      .filter((line) => words.some((word) => new RegExp(`\\b${word}\\b`).test(line)))
    return words.length > 0 ? matching.slice(-most) : this.lines.slice(Math.max(0, end - most), end)
  }
}
