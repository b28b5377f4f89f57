/** Settings that pg_restore sets, with the first server version that knows each. */
const KNOWN_SINCE: Readonly<Record<string, number>> = { transaction_timeout: 17 }
const LINE_OF_HEAD = /^(?:--.*|SET .*|SELECT pg_catalog\.set_config\(.*|\\(?:un)?restrict .*)?\r?$/
// Lines of the head are shorter than this.
const LONGEST_LINE = 65_536
const LINE_END = 10

/**
 * Passes on the output of pg_restore without the settings at its head that this server does not know. An older server does
 * not need them, and psql would stop at them. The rest stays unchanged, because table data may contain any line.
 */
export async function* dropNewerSettings(pieces: AsyncIterable<Buffer>, serverMajor: number): AsyncGenerator<Buffer> {
  let isHead = true
  let begun: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    if (!isHead) {
      yield piece
      continue
    }
    begun = Buffer.concat([begun, piece])
    for (let end = begun.indexOf(LINE_END); isHead && end >= 0; end = begun.indexOf(LINE_END)) {
      const line = begun.toString('utf8', 0, end)
      isHead = LINE_OF_HEAD.test(line)
      if (!isHead) break
      if (isKnown(line, serverMajor)) yield begun.subarray(0, end + 1)
      begun = begun.subarray(end + 1)
    }
    if (isHead && begun.length <= LONGEST_LINE) continue
    isHead = false
    yield begun
    begun = Buffer.alloc(0)
  }
  yield begun
}

function isKnown(line: string, serverMajor: number): boolean {
  const name = /^SET (\w+) /.exec(line)?.[1] ?? ''
  return (KNOWN_SINCE[name] ?? 0) <= serverMajor
}
