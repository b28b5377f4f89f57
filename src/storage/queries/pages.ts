/**
 * Rows in the order of their key, page by page, because a transaction that stays open keeps an engine from cleaning up. `read`
 * gets the last row before its page; null at the beginning. An empty last page is yielded, too.
 */
export async function* pages<Row>(
  atOnce: number,
  read: (last: Row | null) => Promise<readonly Row[]>,
  between: () => Promise<void> = async () => {},
): AsyncGenerator<readonly Row[]> {
  for (let last: Row | null = null; ; ) {
    const rows: readonly Row[] = await read(last)
    yield rows
    last = rows.at(-1) ?? null
    if (!last || rows.length < atOnce) return
    await between()
  }
}
