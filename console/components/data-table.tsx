import { Button, Paper, Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue, useMediaQuery, useThrottledValue } from '@mantine/hooks'
import { ArrowUp } from 'lucide-react'
import { Fragment, type MouseEvent, type ReactNode, useRef } from 'react'
import type { Rows } from '../api/queries.ts'
import classes from './data-table.module.css'
import { ProblemNote } from './problem-note.tsx'
import { useStableRows } from './stable-rows.ts'

export interface Column<Row> {
  readonly key: string
  readonly header: ReactNode
  /** Put the row's link, a `RowLink`, into one of the cells, usually the first: the whole row follows it. */
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'right'
  readonly width?: number | string
  /** For what can be read on the page of the row as well: not shown on narrow screens. */
  readonly hideBelow?: 1200 | 1400
  /** Long texts, which may take several lines. */
  readonly wraps?: true
  /**
   * Its place on phones, where each row is a card: at the left or right of the first line, a line of its own with the header
   * before it or without, or nowhere. Left out: the first column is the head, and the others are lines. An empty cell has no
   * line.
   */
  readonly card?: Place | ((row: Row) => Place)
}

type Place = 'head' | 'aside' | 'line' | 'text' | 'hidden'

interface DataTableProps<Row> {
  /** A caption for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** From `useApiPages`, or from `rowsOf(useApiQuery(…), …)`. */
  readonly source: Rows<Row>
  readonly keyOf: (row: Row) => string
  /** Shown when there are no rows: an `EmptyState`. */
  readonly empty: ReactNode
  /** Columns have just their widths, and cut what is longer. */
  readonly isFixed?: boolean
  /** The label of the button for more rows, if these are not older. */
  readonly moreLabel?: string
  /** Below the rows. */
  readonly note?: ReactNode
  /** A row that divides the list stands before the first row of each group, such as those of one day. Null: no group. */
  readonly groupOf?: (row: Row) => string | null
  /** What stands behind the name of a group, such as what it is. */
  readonly groupNote?: (group: string) => string | undefined
  /** Rows to highlight, such as a new one. */
  readonly isMarked?: (row: Row) => boolean
}

// On phones, styles make cards of the rows. Without roles of their own, browsers would no longer report them as a table.
const ROLES = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  cell: { role: 'cell' },
  columnheader: { role: 'columnheader' },
} as const
const SKELETON_AFTER_MS = 200
const ANNOUNCE_EVERY_MS = 5_000
const SKELETON_ROWS = ['a', 'b', 'c', 'd', 'e', 'f']

/** A list: newest first, one link in each row, older rows on demand, new rows without moving what is being read. */
export function DataTable<Row>({ source, empty, ...props }: DataTableProps<Row>) {
  const isSlow = useDebouncedValue(source.isLoading, SKELETON_AFTER_MS)[0] && source.isLoading
  if (source.problem && source.rows.length === 0) {
    return <ProblemNote problem={source.problem} title="This list could not be loaded" onRetry={source.retry} />
  }
  if (source.isLoading) return <Waiting isShown={isSlow} />
  if (source.rows.length === 0 && !source.hasOlder) return empty
  return (
    <Stack gap="xs">
      {source.problem ? (
        <ProblemNote problem={source.problem} title="These rows may be out of date" onRetry={source.retry} />
      ) : null}
      <SteadyTable source={source} {...props} />
    </Stack>
  )
}

function SteadyTable<Row>({ source, keyOf, columns: all, ...props }: Omit<DataTableProps<Row>, 'empty'>) {
  const place = useRef<HTMLTableElement>(null)
  const { rows, newCount, showNew } = useStableRows({ rows: source.rows, keyOf, place })
  const announced = useThrottledValue(newCount, ANNOUNCE_EVERY_MS)
  const columns = useShownColumns(all)
  return (
    <div className={classes['place'] ?? ''}>
      <VisuallyHidden role="status">{announced > 0 ? `${announced} new` : ''}</VisuallyHidden>
      {newCount > 0 ? (
        <div className={classes['news'] ?? ''}>
          <Button size="compact-sm" radius="xl" leftSection={<ArrowUp size={14} aria-hidden />} onClick={showNew}>
            {newCount} new
          </Button>
        </div>
      ) : null}
      <Paper withBorder className={classes['card'] ?? ''}>
        <table ref={place} {...ROLES.table} className={classes['table'] ?? ''} data-fixed={props.isFixed ?? false}>
          <caption>
            <VisuallyHidden>{props.caption}</VisuallyHidden>
          </caption>
          <Head columns={columns} />
          <tbody {...ROLES.rowgroup} {...FOLLOWING}>
            {rows.map((row, at) => (
              <Fragment key={keyOf(row)}>
                <Divider
                  of={rows}
                  at={at}
                  groupOf={props.groupOf}
                  groupNote={props.groupNote}
                  columns={columns.length}
                />
                <Cells row={row} columns={columns} isMarked={props.isMarked?.(row) ?? false} />
              </Fragment>
            ))}
          </tbody>
        </table>
        <Foot source={source} moreLabel={props.moreLabel ?? 'Load older'} note={props.note} />
      </Paper>
    </div>
  )
}

/** Without those for which the screen is too narrow. Phones have all, because cards have room. */
function useShownColumns<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const isBelow = {
    1200: useMediaQuery('(min-width: 48em) and (max-width: 74.99em)', undefined, AT_ONCE),
    1400: useMediaQuery('(min-width: 48em) and (max-width: 87.49em)', undefined, AT_ONCE),
  }
  return columns.filter(({ hideBelow }) => hideBelow === undefined || !isBelow[hideBelow])
}

// Otherwise, the hidden columns would be drawn first.
const AT_ONCE = { getInitialValueInEffect: false }

/**
 * A click anywhere in a row follows its link, as if on the link itself: with Ctrl or the middle button in a new tab. The link
 * does not lie over the row, because then its numbers and texts could not be selected.
 */
function followRow(event: MouseEvent<HTMLElement>): void {
  const target = event.target as HTMLElement
  if (event.defaultPrevented || event.button > 1 || target.closest('a, button, input, [role="menu"]')) return
  if (!document.getSelection()?.isCollapsed) return
  const { ctrlKey, metaKey, shiftKey, button } = event
  const link = target.closest('tr')?.querySelector('a[data-row-link]')
  const isNewTab = ctrlKey || metaKey || button === 1
  const click = { bubbles: true, cancelable: true, ctrlKey: isNewTab, metaKey: isNewTab && metaKey, shiftKey }
  link?.dispatchEvent(new window.MouseEvent('click', click))
}

// By keyboard, people follow the link itself.
const FOLLOWING = { onClick: followRow, onAuxClick: followRow }

interface DividerProps<Row> {
  readonly of: readonly Row[]
  readonly at: number
  readonly groupOf: ((row: Row) => string | null) | undefined
  readonly groupNote: ((group: string) => string | undefined) | undefined
  readonly columns: number
}

function Divider<Row>({ of, at, groupOf, groupNote, columns }: DividerProps<Row>) {
  const [row, before] = [of[at], of[at - 1]]
  const group = row === undefined ? null : (groupOf?.(row) ?? null)
  if (group === null || (before !== undefined && groupOf?.(before) === group)) return null
  return (
    <tr {...ROLES.row} className={classes['divider']}>
      <td {...ROLES.cell} colSpan={columns}>
        {group} <span>{groupNote?.(group)}</span>
      </td>
    </tr>
  )
}

interface CellsProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  readonly isMarked: boolean
}

function Cells<Row>({ row, columns, isMarked }: CellsProps<Row>) {
  return (
    <tr {...ROLES.row} data-marked={isMarked}>
      {columns.map((column, index) => (
        <td
          key={column.key}
          {...ROLES.cell}
          {...placeOf(column)}
          data-card={cardOf(column, row) ?? (index === 0 ? 'head' : 'line')}
          {...(typeof column.header === 'string' ? { 'data-label': column.header } : {})}
        >
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
}

function cardOf<Row>({ card }: Column<Row>, row: Row): Place | undefined {
  return typeof card === 'function' ? card(row) : card
}

function Head<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return (
    <thead {...ROLES.rowgroup}>
      <tr {...ROLES.row}>
        {columns.map((column) => (
          <th
            key={column.key}
            {...ROLES.columnheader}
            scope="col"
            {...placeOf(column)}
            {...(column.width === undefined ? {} : { style: { width: column.width } })}
          >
            {column.header}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function placeOf<Row>({ align, wraps }: Column<Row>) {
  return { 'data-align': align, 'data-wraps': wraps }
}

interface FootProps<Row> {
  readonly source: Rows<Row>
  readonly moreLabel: string
  readonly note: ReactNode
}

function Foot<Row>({ source, moreLabel, note }: FootProps<Row>) {
  if (!source.hasOlder && !source.isResting && note === undefined) return null
  return (
    <div className={classes['foot'] ?? ''}>
      {note}
      {source.isResting ? (
        <>
          You are reading far back: new rows wait until you return.
          <Button variant="subtle" size="compact-sm" onClick={source.backToNewest}>
            Back to the newest
          </Button>
        </>
      ) : null}
      {source.hasOlder ? (
        <Button variant="default" size="compact-sm" loading={source.isLoadingOlder} onClick={source.loadOlder}>
          {moreLabel}
        </Button>
      ) : null}
    </div>
  )
}

/** The height of the expected rows, so that the page does not jump when they load. */
function Waiting({ isShown }: { readonly isShown: boolean }) {
  return (
    <Stack gap="sm" mih={280} aria-busy="true">
      <VisuallyHidden role="status">{isShown ? 'Loading' : ''}</VisuallyHidden>
      {isShown ? SKELETON_ROWS.map((row) => <Skeleton key={row} height={28} />) : null}
    </Stack>
  )
}
