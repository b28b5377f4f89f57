import { type RefObject, useLayoutEffect, useState } from 'react'

interface Given<Row> {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly place: RefObject<HTMLElement | null>
}

// Up to this distance the reader is still at the top.
const AT_TOP_PX = 80

/** Holds new rows back while the person reads further down, or has the keyboard focus in the list. */
export function useStableRows<Row>({ rows, keyOf, place }: Given<Row>) {
  const newest = rows[0] === undefined ? null : keyOf(rows[0])
  const [head, setHead] = useState(newest)
  const found = head === null ? 0 : rows.findIndex((row) => keyOf(row) === head)
  // The row is gone because the filter changed, so this is a new list.
  const newCount = Math.max(0, found)
  useLayoutEffect(() => {
    if (found < 0 || !isReading(place.current)) setHead(newest)
  }, [newest, found, place])
  const showNew = () => {
    setHead(newest)
    window.scrollTo({ top: 0 })
  }
  return { rows: rows.slice(newCount), newCount, showNew }
}

function isReading(place: HTMLElement | null): boolean {
  const hasFocus = place?.contains(document.activeElement) ?? false
  const isSelecting = document.getSelection()?.isCollapsed === false
  return window.scrollY > AT_TOP_PX || hasFocus || isSelecting
}
