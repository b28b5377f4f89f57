import { Box, Code, Group, Stack, Text, Timeline } from '@mantine/core'
import { CircleCheck, CircleDot, CircleHelp, CircleX, Hourglass, type LucideIcon } from 'lucide-react'
import type { LogTimelineEntry } from '../../../src/contract/console/log.ts'
import { durationText } from '../../../src/format/durations.ts'
import type { StateGroup } from '../../app/theme.ts'
import { exactLocal } from '../../components/instants.ts'
import { Sentence } from '../../components/sentence.tsx'

const DISPLAYS: Readonly<Record<LogTimelineEntry['tone'], { readonly icon: LucideIcon; readonly group: StateGroup }>> =
  {
    plain: { icon: CircleDot, group: 'closed' },
    good: { icon: CircleCheck, group: 'sent' },
    wait: { icon: Hourglass, group: 'moving' },
    unknown: { icon: CircleHelp, group: 'attend' },
    bad: { icon: CircleX, group: 'notsent' },
  }
const BULLET_PX = 26

/** The timeline of a message, each entry with its time and its offset from the acceptance. */
export function LogTimeline({ entries }: { readonly entries: readonly LogTimelineEntry[] }) {
  return (
    <Timeline bulletSize={BULLET_PX} lineWidth={2} active={entries.length} role="list" aria-label="What happened">
      {entries.map((entry, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: moments only ever come at the end, and two may be alike
        <TimelineEntry key={index} entry={entry} />
      ))}
    </Timeline>
  )
}

function TimelineEntry({ entry, ...item }: { readonly entry: LogTimelineEntry }) {
  const { icon: Icon, group } = DISPLAYS[entry.tone]
  return (
    <Timeline.Item
      {...item}
      role="listitem"
      lineVariant={entry.tone === 'wait' ? 'dashed' : 'solid'}
      color={`var(--nc-${group}-solid)`}
      bullet={<Icon size={14} aria-hidden />}
      title={entry.title}
    >
      <Stack gap={2}>
        <Group gap="xs">
          <Text size="xs" ff="monospace">
            +{durationText(entry.offsetMs)}
          </Text>
          <Text size="xs" c="dimmed" component="time" dateTime={new Date(entry.at).toISOString()}>
            {exactLocal(entry.at)}
          </Text>
        </Group>
        {entry.meaning === null ? null : (
          <Text size="sm">
            <Sentence text={entry.meaning} /> {entry.code === null ? null : <Code>{entry.code}</Code>}
          </Text>
        )}
        {entry.words === null ? null : (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            “{entry.words}”
          </Text>
        )}
        <Facts facts={[...entry.facts, ...(entry.privateFacts ?? [])]} />
      </Stack>
    </Timeline.Item>
  )
}

function Facts({ facts }: Pick<LogTimelineEntry, 'facts'>) {
  if (facts.length === 0) return null
  return (
    <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      {facts.map(({ name, value }) => (
        <Box component="span" key={name} mr="sm" style={{ display: 'inline-block' }}>
          {name}: {value}
        </Box>
      ))}
    </Text>
  )
}
