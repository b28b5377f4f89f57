interface ByteRange {
  readonly from: number
  /** Included. */
  readonly to: number
}

/**
 * The part of a file that a `Range` header asks for. Null: all of it, also when the header names several parts or is
 * malformed, as the standard says. `outside`: no byte of the file is in the range.
 */
export function readRange(header: string | undefined, sizeBytes: number): ByteRange | 'outside' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') return lastBytes(Number(last), sizeBytes)
  const [from, wantedTo] = [Number(first), last === '' ? Number.MAX_SAFE_INTEGER : Number(last)]
  if (wantedTo < from) return null
  return from < sizeBytes ? { from, to: Math.min(wantedTo, sizeBytes - 1) } : 'outside'
}

function lastBytes(count: number, sizeBytes: number): ByteRange | 'outside' {
  if (count === 0 || sizeBytes === 0) return 'outside'
  return { from: Math.max(0, sizeBytes - count), to: sizeBytes - 1 }
}
