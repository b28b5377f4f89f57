/** A promise of the protocol, and how it is tried. `run`: null when it is kept, else one sentence that says what is wrong. */
export interface AdapterCase {
  readonly title: string
  readonly run: () => Promise<string | null>
}

export interface CaseResult {
  readonly title: string
  /** Null when the promise is kept. */
  readonly problem: string | null
}

export async function* runCases(cases: readonly AdapterCase[]): AsyncIterable<CaseResult> {
  for (const { title, run } of cases) yield { title, problem: await run() }
}
