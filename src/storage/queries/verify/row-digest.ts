import { createHash } from 'node:crypto'
import type { CopiedRow, CopiedValue } from './copied-tables.ts'

export interface TableDigest {
  readonly rows: number
  readonly sha256: string
}

/** Counts rows and makes one checksum of them all, in their order: from the same text on both sides. */
export class RowDigest {
  readonly #hash = createHash('sha256')
  #rows = 0

  get rows(): number {
    return this.#rows
  }

  add(rows: readonly CopiedRow[]): void {
    for (const row of rows) this.#hash.update(`${JSON.stringify(row.map(toText))}\n`)
    this.#rows += rows.length
  }

  finish(): TableDigest {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') }
  }
}

function toText(value: CopiedValue): string | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}
