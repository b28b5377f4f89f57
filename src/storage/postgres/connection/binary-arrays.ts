// Arrays in PostgreSQL's binary form. As text, every quote and backslash of every body would have to be escaped here and
// taken apart there: that cost more than the insert.

const TEXT = 25
const HEADER_BYTES = 20
const NULL_LENGTH = -1

type Value<Item> = readonly (Item | null)[]

/** Text that holds U+0000 is refused by PostgreSQL: see `withoutNul`. */
export function textArray(values: Value<string>): Buffer {
  let size = HEADER_BYTES + values.length * 4
  for (const value of values) if (value !== null) size += Buffer.byteLength(value)
  const { buffer, hasNull } = begin(TEXT, { size, values })
  let at = HEADER_BYTES
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(NULL_LENGTH, at)
      continue
    }
    const length = buffer.write(value, at + 4)
    buffer.writeInt32BE(length, at)
    at += 4 + length
  }
  return finish(buffer, hasNull)
}

/** Whole numbers up to 2^53. */
export function bigintArray(values: Value<number>): Buffer {
  return fixedArray(values, BIGINT)
}

export function integerArray(values: Value<number>): Buffer {
  return fixedArray(values, INTEGER)
}

export function booleanArray(values: Value<boolean>): Buffer {
  return fixedArray(values, BOOLEAN)
}

/** What a refused body may hold, and PostgreSQL's text may not: shown as its symbol. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u2400') : text
}

interface Element<Item> {
  readonly oid: number
  readonly width: number
  readonly write: (buffer: Buffer, value: Item, at: number) => void
}

const BIGINT: Element<number> = {
  oid: 20,
  width: 8,
  write(buffer, value, at) {
    const high = Math.floor(value / 0x1_0000_0000)
    buffer.writeInt32BE(high, at)
    buffer.writeUInt32BE(value - high * 0x1_0000_0000, at + 4)
  },
}
const INTEGER: Element<number> = { oid: 23, width: 4, write: (buffer, value, at) => buffer.writeInt32BE(value, at) }
const BOOLEAN: Element<boolean> = {
  oid: 16,
  width: 1,
  write: (buffer, value, at) => buffer.writeUInt8(value ? 1 : 0, at),
}

function fixedArray<Item>(values: Value<Item>, { oid, width, write }: Element<Item>): Buffer {
  let size = HEADER_BYTES + values.length * 4
  for (const value of values) if (value !== null) size += width
  const { buffer, hasNull } = begin(oid, { size, values })
  let at = HEADER_BYTES
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(NULL_LENGTH, at)
      continue
    }
    at = buffer.writeInt32BE(width, at)
    write(buffer, value, at)
    at += width
  }
  return finish(buffer, hasNull)
}

function begin(element: number, { size, values }: { size: number; values: Value<unknown> }) {
  const buffer = Buffer.allocUnsafe(size)
  // One dimension, whether there are nulls, what the elements are, how many, counted from one.
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(element, 8)
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16)
  return { buffer, hasNull: values.includes(null) }
}

function finish(buffer: Buffer, hasNull: boolean): Buffer {
  buffer.writeInt32BE(hasNull ? 1 : 0, 4)
  return buffer
}
