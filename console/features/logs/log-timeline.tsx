import { Box, Code, Group, Stack, Text, Timeline } from '@mantine/core'
import { CircleCheck, CircleDot, CircleX, Hourglass, type LucideIcon } from 'lucide-react'
import type { LogTimelineEntry } from '../../../src/contract/console/log.ts'
import { exactLocal } from '../../components/instants.ts'
import { offsetText } from './log-labels.ts'

const LOOKS: Readonly<Record<LogTimelineEntry['tone'], { readonly icon: LucideIcon; readonly color: string }>> = {
  plain: { icon: CircleDot, color: 'gray' },
  good: { icon: CircleCheck, color: 'green' },
  wait: { icon: Hourglass, color: 'yellow' },
  bad: { icon: CircleX, color: 'red' },
}
const BULLET_PX = 26

/** Everything that happened to a message, each moment with its distance from the acceptance and its own time. */
export function LogTimeline({ entries }: { readonly entries: readonly LogTimelineEntry[] }) {
  return (
    <Timeline bulletSize={BULLET_PX} lineWidth={2} active={entries.length} role="list" aria-label="What happened">
      {entries.map((moment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: moments only ever come at the end, and two may be alike
        <TimelineEntry key={index} moment={moment} />
      ))}
    </Timeline>
  )
}

function TimelineEntry({ moment, ...item }: { readonly moment: LogTimelineEntry }) {
  const { icon: Icon, color } = LOOKS[moment.tone]
  return (
    <Timeline.Item {...item} role="listitem" color={color} bullet={<Icon size={14} aria-hidden />} title={moment.title}>
      <Stack gap={2}>
        <Group gap="xs">
          <Text size="xs" ff="monospace">
            {offsetText(moment.offsetMs)}
          </Text>
          <Text size="xs" c="dimmed" component="time" dateTime={new Date(moment.at).toISOString()}>
            {exactLocal(moment.at)}
          </Text>
        </Group>
        {moment.meaning === null ? null : (
          <Text size="sm">
            {moment.meaning} {moment.code === null ? null : <Code>{moment.code}</Code>}
          </Text>
        )}
        {moment.words === null ? null : (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            “{moment.words}”
          </Text>
        )}
        <Facts facts={[...moment.facts, ...(moment.privateFacts ?? [])]} />
      </Stack>
    </Timeline.Item>
  )
}

function Facts({ facts }: Pick<LogTimelineEntry, 'facts'>) {
  if (facts.length === 0) return null
  return (
    <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      {facts.map(({ name, value }) => (
        <Box component="span" key={name} mr="sm">
          {name}: {value}
        </Box>
      ))}
    </Text>
  )
}
