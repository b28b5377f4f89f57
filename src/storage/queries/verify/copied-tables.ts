import { createHash } from 'node:crypto'

export type CopiedValue = string | number | Uint8Array | null
/** The values of a row, in the order of the table's columns. */
export type CopiedRow = readonly CopiedValue[]

export interface CopiedTable {
  readonly name: string
  readonly columns: Readonly<Record<string, 'text' | 'number' | 'bytes'>>
  /** The columns of the primary key. Both sides read the rows in its order. */
  readonly key: readonly string[]
}

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
