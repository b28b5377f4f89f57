import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { durationText } from '../../../src/format/durations.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { numberText, shareText } from './results.ts'
import classes from './tiles.module.css'

interface TileProps {
  readonly label: string
  readonly group?: string
  readonly value: string
  readonly note?: ReactNode
  /** The log filter for the counted entries. */
  readonly search: Readonly<Record<string, string | number>>
}

/** The main figures in one strip, each with a link to the counted entries. */
export function Tiles({ seen }: { readonly seen: OverviewReply }) {
  const { totals, waiting, latency, from } = seen
  // A background job counts large logs, and has not counted this yet.
  const isCounting = totals.accepted === 0 && latency !== null && seen.countedAt !== seen.now
  const textOf = (count: number) => (isCounting ? 'Counting…' : numberText(count))
  const since = { since: from }
  const requests = totals.accepted + totals.refused
  return (
    <Paper withBorder component="section" aria-label="Figures" className={classes['strip'] ?? ''}>
      <Tile
        label="Accepted"
        value={textOf(totals.accepted)}
        note={isCounting ? null : `of ${numberText(requests)} ${requests === 1 ? 'request' : 'requests'}`}
        search={{ ...since, result: 'accepted' }}
      />
      <Tile
        label="Sent"
        group="sent"
        value={textOf(totals.published)}
        note={totals.accepted === 0 ? null : `${shareText(totals.published, totals.accepted)} of accepted`}
        search={{ ...since, result: 'published' }}
      />
      <Tile
        label="Waiting"
        group="moving"
        value={`${waiting.isMore ? 'about ' : ''}${numberText(waiting.count)}`}
        note={
          waiting.oldestAt === null ? null : (
            <>
              oldest <TimeAgo at={waiting.oldestAt} isQuiet />
            </>
          )
        }
        search={{ range: 'all', result: 'waiting' }}
      />
      <Tile
        label="Failed or expired"
        group="notsent"
        value={textOf(totals.failed + totals.expired)}
        note={totals.expired > 0 ? `${numberText(totals.failed)} failed, ${numberText(totals.expired)} expired` : null}
        search={{ ...since, view: 'failed' }}
      />
      <Tile
        label="Refused"
        group="refused"
        value={numberText(totals.refused)}
        search={{ ...since, view: 'rejected' }}
      />
      <Tile
        label="Time to publish"
        value={latency === null ? '–' : durationText(latency.p50Ms)}
        note={
          latency === null
            ? null
            : `median of the last ${numberText(latency.messages)}, waits included · p95 ${durationText(latency.p95Ms)}`
        }
        search={{ ...since, result: 'published' }}
      />
    </Paper>
  )
}

function Tile({ label, group, value, note = null, search }: TileProps) {
  const { id: account } = useAccount()
  return (
    <div className={classes['tile']}>
      {group === undefined ? null : <i data-fill={group} data-swatch />}
      <TextLink
        to="/a/$account/developer/logs"
        params={{ account }}
        search={search as never}
        size="xs"
        c="dimmed"
        underline="hover"
      >
        {label}
      </TextLink>
      <Text className={classes['value'] ?? ''} data-tile={label}>
        {value}
      </Text>
      {note === null ? null : (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </div>
  )
}
