import { bigintArray, booleanArray, integerArray, textArray } from './binary-arrays.ts'

/** What a parameter of a statement can be. */
type Value = string | number | boolean | Buffer | null

/** Where the value of each parameter comes from, by the name that the parameter has in SQL. */
type Parameters<Input> = Readonly<Record<string, (input: Input) => Value>>

/** An array with one value for each row; null where no row has a value. */
type Column<Row> = (rows: readonly Row[]) => Buffer | string | null

/** A function in the database, called by the names of its parameters: a call by position with dozens of them cannot be read. */
export class StoredFunction<Input> {
  /** `select * from name(first => $1, second => $2)` */
  readonly sql: string
  readonly #sources: readonly ((input: Input) => Value)[]

  constructor(name: string, parameters: Parameters<Input>) {
    const named = Object.keys(parameters).map((parameter, at) => `${parameter} => $${at + 1}`)
    this.sql = `select * from ${name}(${named.join(', ')})`
    this.#sources = Object.values(parameters)
  }

  valuesFor(input: Input): Value[] {
    return this.#sources.map((source) => source(input))
  }
}

/** Parameters that are arrays, all of the same rows. */
export function columns<Input, Row>(
  rowsOf: (input: Input) => readonly Row[],
  table: Readonly<Record<string, Column<Row>>>,
): Parameters<Input> {
  const sources = Object.entries(table).map(
    ([name, column]) => [name, (input: Input) => column(rowsOf(input))] as const,
  )
  return Object.fromEntries(sources)
}

export const text = columnOf(textArray)
export const bigint = columnOf(bigintArray, inText)
export const integer = columnOf(integerArray, inText)
export const boolean = columnOf(booleanArray, inText)

type Encode<Item> = (values: readonly (Item | null)[]) => Buffer

/** `ofOne` is quicker for a single row. */
function columnOf<Item>(encode: Encode<Item>, ofOne: (value: Item) => Buffer | string = (value) => encode([value])) {
  return <Row>(pick: (row: Row) => Item | null): Column<Row> =>
    (rows) => {
      if (rows.length === 1) {
        const value = pick(rows[0] as Row)
        return value === null ? null : ofOne(value)
      }
      // Most columns of most batches are empty, and make no array then.
      return rows.every((row) => pick(row) === null) ? null : encode(rows.map(pick))
    }
}

function inText(value: number | boolean): string {
  return `{${value}}`
}
