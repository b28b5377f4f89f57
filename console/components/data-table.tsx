import { Button, Center, Group, Skeleton, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue, useThrottledValue } from '@mantine/hooks'
import { ArrowUp } from 'lucide-react'
import { type ReactNode, useRef } from 'react'
import type { Rows } from '../api/queries.ts'
import { ProblemNote } from './problem-note.tsx'
import { useStableRows } from './stable-rows.ts'

export interface Column<Row> {
  readonly key: string
  readonly header: ReactNode
  /** Put the row's link, a `RowLink`, into one of the cells, usually the first. */
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'left' | 'right' | 'center'
  readonly width?: number | string
}

interface DataTableProps<Row> {
  /** A caption for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** From `useApiPages`, or from `rowsOf(useApiQuery(…), …)`. */
  readonly source: Rows<Row>
  readonly keyOf: (row: Row) => string
  /** Shown when there are no rows: an `EmptyState`. */
  readonly empty: ReactNode
  readonly minWidth?: number
  /** The label of the button for more rows, if these are not older. */
  readonly moreLabel?: string
  /** Rows to highlight, such as a new one. */
  readonly isMarked?: (row: Row) => boolean
}

const SKELETON_AFTER_MS = 200
// A darker shade than usual in dark mode, so that links on it are readable.
const HOVERED = 'light-dark(var(--mantine-color-gray-1), var(--mantine-color-dark-6))'
const ANNOUNCE_EVERY_MS = 5_000
const SKELETON_ROWS = ['a', 'b', 'c', 'd', 'e', 'f']

/** A list: newest first, one link in each row, older rows on demand, new rows without moving what is being read. */
export function DataTable<Row>({ source, empty, moreLabel = 'Load older', ...props }: DataTableProps<Row>) {
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
      <Foot source={source} moreLabel={moreLabel} />
    </Stack>
  )
}

function SteadyTable<Row>({ source, keyOf, ...props }: Omit<DataTableProps<Row>, 'empty' | 'moreLabel'>) {
  const place = useRef<HTMLTableElement>(null)
  const { rows, newCount, showNew } = useStableRows({ rows: source.rows, keyOf, place })
  const announced = useThrottledValue(newCount, ANNOUNCE_EVERY_MS)
  return (
    <>
      <VisuallyHidden role="status">{announced > 0 ? `${announced} new` : ''}</VisuallyHidden>
      {newCount > 0 ? (
        <Center pos="sticky" top={64} style={{ zIndex: 2 }}>
          <Button size="compact-sm" leftSection={<ArrowUp size={14} aria-hidden />} onClick={showNew}>
            {newCount} new
          </Button>
        </Center>
      ) : null}
      <Table.ScrollContainer minWidth={props.minWidth ?? 640}>
        <Table ref={place} verticalSpacing="xs" highlightOnHover highlightOnHoverColor={HOVERED}>
          <Table.Caption>
            <VisuallyHidden>{props.caption}</VisuallyHidden>
          </Table.Caption>
          <Head columns={props.columns} />
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr
                key={keyOf(row)}
                {...(props.isMarked?.(row) ? { bg: 'var(--mantine-primary-color-light)' } : {})}
              >
                {props.columns.map(({ key, cell, align = 'left' }) => (
                  <Table.Td key={key} ta={align}>
                    {cell(row)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  )
}

function Head<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map(({ key, header, align = 'left', width }) => (
          <Table.Th key={key} scope="col" ta={align} {...(width === undefined ? {} : { w: width })}>
            {header}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}

function Foot<Row>({ source, moreLabel }: { readonly source: Rows<Row>; readonly moreLabel: string }) {
  if (!source.hasOlder && !source.isResting) return null
  return (
    <Group justify="center" gap="md">
      {source.isResting ? (
        <>
          <Text size="sm" c="dimmed">
            You are reading far back: new rows wait until you return.
          </Text>
          <Button variant="subtle" size="compact-sm" onClick={source.backToNewest}>
            Back to the newest
          </Button>
        </>
      ) : null}
      {source.hasOlder ? (
        <Button variant="default" loading={source.isLoadingOlder} onClick={source.loadOlder}>
          {moreLabel}
        </Button>
      ) : null}
    </Group>
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
