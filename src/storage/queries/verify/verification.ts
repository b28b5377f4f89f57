import { pages } from '../pages.ts'
import type { Store } from '../store.ts'
import type { Findings } from './findings.ts'

export interface VerifyProgress {
  readonly doing: string
  readonly rows: number
}

/** What every part of a verification needs. */
export interface Verification {
  readonly store: Store
  readonly findings: Findings
  /** Receives the duration of each batch, and rests in proportion so that others can use the database. */
  readonly rest: (tookMs: number) => Promise<void>
  readonly onProgress: (progress: VerifyProgress) => void
}

/** The checks that differ between engines. */
export interface VerifyEngine {
  /** The files and indexes. */
  verifyPages(verification: Verification): Promise<void>
  verifyNumbers(verification: Verification): Promise<void>
}

export const ROWS_AT_ONCE = 500

/** Runs a batch and rests after it. */
export async function inBatch<Result>({ rest }: Verification, work: () => Promise<Result>): Promise<Result> {
  const begunAt = performance.now()
  const result = await work()
  await rest(performance.now() - begunAt)
  return result
}

/** Each page in a batch. */
export function inPages<Row>(
  verification: Verification,
  read: (last: Row | null) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  return pages<Row>(ROWS_AT_ONCE, (last) => inBatch(verification, () => read(last)))
}
