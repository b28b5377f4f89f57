import { Anchor, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { Pause, Play, Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { ReasonNote } from '../../components/reason-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { ChannelSettingsForm } from './channel-settings-form.tsx'
import { countText, messages, paceText } from './connection-labels.ts'
import { LaneBadge } from './lane-badge.tsx'
import { LaneSection } from './lane-section.tsx'
import { LaneSettingsForm } from './lane-settings-form.tsx'
import { NetworkSection } from './network-section.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { UnresolvedList } from './unresolved-list.tsx'
import { WaitNote } from './wait-note.tsx'

export function Connection() {
  const { id = '' } = useParams({ strict: false })
  const { id: account } = useAccount()
  const [isLeaving, setLeaving] = useState(false)
  const asked = useApiQuery('readConnection', { params: { account, id } }, { enabled: !isLeaving })
  const connection = asked.data
  return (
    <Page
      title="Connection"
      detail={connection?.number}
      back={
        <TextLink to="/a/$account/connections" params={{ account }} size="sm">
          Connections
        </TextLink>
      }
      actions={connection ? <Actions key={id} connection={connection} onLeaving={setLeaving} /> : null}
    >
      {asked.error && !isLeaving ? (
        <ProblemNote
          problem={asked.error}
          title="This connection could not be loaded"
          onRetry={() => void asked.refetch()}
        />
      ) : connection ? (
        <Parts key={id} connection={connection} isLeaving={isLeaving} />
      ) : null}
    </Page>
  )
}

function Parts({ connection, isLeaving }: { readonly connection: ConnectionView; readonly isLeaving: boolean }) {
  const { unresolved } = connection
  return (
    <>
      <Facts connection={connection} />
      <WaitNote connection={connection} />
      <ReportsMissing id={connection.id} />
      <LaneSection connection={connection} isFrozen={isLeaving} />
      {unresolved.count > 0 || unresolved.isMore ? (
        <Part id="unconfirmed" title="Unconfirmed messages">
          <UnresolvedList connection={connection.id} isFrozen={isLeaving} />
        </Part>
      ) : null}
      {connection.callback || connection.facts || connection.hasTemplates ? (
        <Part id="network" title="The network">
          <NetworkSection connection={connection} />
        </Part>
      ) : null}
      <Part id="lane-settings" title="Settings of the lane">
        <LaneSettingsForm connection={connection} />
      </Part>
      {connection.channelSettings.length > 0 ? (
        <Part id="channel-settings" title="Settings of the channel">
          <ChannelSettingsForm connection={connection} />
        </Part>
      ) : null}
    </>
  )
}

/** The watchdog's alarm for missing reports. */
function ReportsMissing({ id }: { readonly id: string }) {
  const { id: account } = useAccount()
  const { data } = useApiQuery('readOpenAlarms', { params: { account } })
  const alarm = data?.items.find(({ kind, object }) => kind === 'reports_missing' && object === id)
  if (!alarm) return null
  return <ReasonNote code={alarm.kind} meaning={alarm.cause} whatToDo={alarm.nextStep} group="attend" />
}

function Part({ id, title, children }: { readonly id: string; readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap="sm" component="section" aria-labelledby={id}>
      <Title order={2} id={id}>
        {title}
      </Title>
      {children}
    </Stack>
  )
}

function Actions({
  connection,
  onLeaving,
}: {
  readonly connection: ConnectionView
  readonly onLeaving: (isLeaving: boolean) => void
}) {
  const { id: account, can } = useAccount()
  const [isAsking, setAsking] = useState(false)
  const pause = useApiMutation('pauseConnection')
  const resume = useApiMutation('resumeConnection')
  if (!can('developer')) return null
  const { id, number, state, waiting } = connection
  const params = { account, id }
  const complain = (error: Error) => showToast(error.message, 'bad')
  return (
    <>
      {state === 'paused' ? (
        <Button
          leftSection={<Play size={16} aria-hidden />}
          loading={resume.isPending}
          onClick={() =>
            resume
              .mutateAsync({ params })
              .then(() => showToast(`Resumed ${number}: ${messages(waiting)} may go out.`), complain)
          }
        >
          Resume
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<Pause size={16} aria-hidden />}
          loading={pause.isPending}
          onClick={() =>
            pause
              .mutateAsync({ params })
              .then(() => showToast(`Paused ${number}: what is accepted from now on waits.`), complain)
          }
        >
          Pause
        </Button>
      )}
      <Button color="red" leftSection={<Trash2 size={16} aria-hidden />} onClick={() => setAsking(true)}>
        Remove
      </Button>
      <RemoveDialog connection={connection} isOpen={isAsking} onClose={() => setAsking(false)} onBusy={onLeaving} />
    </>
  )
}

function Facts({ connection }: { readonly connection: ConnectionView }) {
  const { channel, waiting, oldestWaitingAt, pace, unresolved, createdAt } = connection
  return (
    <SimpleGrid component="dl" cols={{ base: 2, sm: 3, lg: 6 }} spacing="lg" m={0}>
      <Fact name="State">
        <LaneBadge connection={connection} />
      </Fact>
      <Fact name="Waiting">
        <Text span inherit style={{ fontVariantNumeric: 'tabular-nums' }}>
          {countText(waiting)}
        </Text>
        {oldestWaitingAt === null ? null : (
          <Text size="xs" c="dimmed" component="div">
            oldest <TimeAgo at={oldestWaitingAt} isQuiet />
          </Text>
        )}
      </Fact>
      <Fact name="Pace">{paceText(pace)}</Fact>
      <Fact name="Last acknowledged">
        {pace.lastPublishedAt === null ? 'Not lately' : <TimeAgo at={pace.lastPublishedAt} />}
      </Fact>
      <Fact name="Unconfirmed">
        {unresolved.count > 0 ? <Anchor href="#unconfirmed">{countText(unresolved)}</Anchor> : '0'}
      </Fact>
      <Fact name="Channel">
        {channel}
        <Text size="xs" c="dimmed" component="div">
          added <TimeAgo at={createdAt} isQuiet />
        </Text>
      </Fact>
    </SimpleGrid>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Group component="div" gap={2} align="flex-start" style={{ flexDirection: 'column' }} mih={56}>
      <Text component="dt" size="xs" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0}>
        {children}
      </Text>
    </Group>
  )
}
