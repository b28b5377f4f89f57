import { Paper, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { durationText } from '../../../src/format/durations.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { numberText } from './results.ts'

interface TileProps {
  readonly label: string
  readonly value: string
  readonly note?: ReactNode
  /** The log filter for the counted entries. */
  readonly search: Readonly<Record<string, string | number>>
}

/** The main figures, each with a link to the counted entries. */
export function Tiles({ seen }: { readonly seen: OverviewReply }) {
  const { totals, waiting, latency, from } = seen
  // A background job counts large logs, and has not counted this yet.
  const isCounting = totals.accepted === 0 && latency !== null && seen.countedAt !== seen.now
  const textOf = (count: number) => (isCounting ? 'Counting…' : numberText(count))
  const since = { since: from }
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, md: 4 }} spacing="sm" component="section" aria-label="Figures">
      <Tile label="Accepted" value={textOf(totals.accepted)} search={{ ...since, result: 'accepted' }} />
      <Tile label="Published" value={textOf(totals.published)} search={{ ...since, result: 'published' }} />
      <Tile
        label="Failed"
        value={textOf(totals.failed + totals.expired)}
        note={totals.expired > 0 ? `${numberText(totals.expired)} of them expired` : undefined}
        search={{ ...since, view: 'failed' }}
      />
      <Tile label="Unconfirmed" value={textOf(totals.unconfirmed)} search={{ ...since, result: 'unconfirmed' }} />
      <Tile label="Refused" value={numberText(totals.refused)} search={{ ...since, view: 'rejected' }} />
      <Tile
        label="Waiting now"
        value={`${waiting.isMore ? 'about ' : ''}${numberText(waiting.count)}`}
        search={{ result: 'waiting' }}
      />
      <Tile
        label="Longest wait now"
        value={waiting.oldestAt === null ? 'Nothing waits' : durationText(Math.max(0, seen.now - waiting.oldestAt))}
        search={{ result: 'waiting' }}
      />
      <Tile
        label="Until published, half of them"
        value={latency === null ? 'Not known yet' : durationText(latency.p50Ms)}
        note={
          latency === null
            ? undefined
            : `19 of 20 within ${durationText(latency.p95Ms)}, of the last ${numberText(latency.messages)}`
        }
        search={{ result: 'published' }}
      />
    </SimpleGrid>
  )
}

function Tile({ label, value, note, search }: TileProps) {
  const { id: account } = useAccount()
  return (
    <Paper withBorder p="sm">
      <TextLink to="/a/$account/developer/logs" params={{ account }} search={search as never} size="sm">
        {label}
      </TextLink>
      <Text size="xl" fw={650} style={{ fontVariantNumeric: 'tabular-nums' }} data-tile={label}>
        {value}
      </Text>
      {note === undefined ? null : (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  )
}
