import { ActionIcon, Badge, Button, Menu, Paper, Stack, Tabs, Text, Title } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { Ellipsis, Pause, Play, Send, Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { z } from 'zod'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { FactStrip, StripFact } from '../../components/facts.tsx'
import { ButtonLink, TextLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { ReasonNote } from '../../components/reason-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { ChannelSettingsForm } from './channel-settings-form.tsx'
import classes from './connection.module.css'
import { countText, messages, nameText, paceText } from './connection-labels.ts'
import { LaneBadge } from './lane-badge.tsx'
import { LaneSection } from './lane-section.tsx'
import { LaneSettingsForm } from './lane-settings-form.tsx'
import { NameForm } from './name-form.tsx'
import { FactList, NetworkSection, reportedFacts } from './network-section.tsx'
import { PhoneSection } from './phone-section.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { UnresolvedList } from './unresolved-list.tsx'
import { useSentToday } from './use-sent-today.ts'
import { WaitNote } from './wait-note.tsx'

interface PartsProps {
  readonly connection: ConnectionView
  readonly isLeaving: boolean
  readonly onLeaving: (isLeaving: boolean) => void
}

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
        <TextLink to="/a/$account/connections" params={{ account }} size="sm" data-alone>
          Connections
        </TextLink>
      }
      {...(connection ? { badge: <Named connection={connection} /> } : {})}
      actions={connection ? <Actions key={id} connection={connection} /> : null}
    >
      {asked.error && !isLeaving ? (
        <ProblemNote
          problem={asked.error}
          title="This connection could not be loaded"
          onRetry={() => void asked.refetch()}
        />
      ) : connection ? (
        <Parts key={id} connection={connection} isLeaving={isLeaving} onLeaving={setLeaving} />
      ) : null}
    </Page>
  )
}

const TABS = ['lane', 'network', 'settings'] as const
const search = z.object({ tab: z.enum(TABS).catch('lane') })

function Parts({ connection, isLeaving, onLeaving }: PartsProps) {
  const [{ tab }, change] = useSearchState(search)
  const { waiting, callback, hasTemplates } = connection
  const hasNetwork = callback !== null || reportedFacts(connection).length > 0 || hasTemplates
  return (
    <>
      <Strip connection={connection} />
      <WaitNote connection={connection} />
      <ReportsMissing id={connection.id} />
      {connection.phone ? <PhoneSection connection={connection} phone={connection.phone} /> : null}
      <Tabs
        value={tab === 'network' && !hasNetwork ? 'lane' : tab}
        onChange={(next) => change({ tab: next === 'lane' ? undefined : next }, { isStep: true })}
        keepMounted={false}
      >
        <Tabs.List aria-label="Parts of this connection">
          <Tabs.Tab
            value="lane"
            {...(waiting.count > 0 ? { rightSection: <Badge variant="default">{countText(waiting)}</Badge> } : {})}
          >
            Lane
          </Tabs.Tab>
          {hasNetwork ? <Tabs.Tab value="network">Network</Tabs.Tab> : null}
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="lane" pt="md">
          <Stack>
            <LaneSection connection={connection} isFrozen={isLeaving} />
            <Unconfirmed connection={connection} isFrozen={isLeaving} />
          </Stack>
        </Tabs.Panel>
        {hasNetwork ? (
          <Tabs.Panel value="network" pt="md">
            <NetworkSection connection={connection} />
          </Tabs.Panel>
        ) : null}
        <Tabs.Panel value="settings" pt="md">
          <Settings connection={connection} onLeaving={onLeaving} />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}

function Unconfirmed({ connection, isFrozen }: { readonly connection: ConnectionView; readonly isFrozen: boolean }) {
  const { unresolved } = connection
  if (unresolved.count === 0 && !unresolved.isMore) return null
  return (
    <Stack gap="sm" component="section" aria-labelledby="unconfirmed">
      <Title order={2} id="unconfirmed">
        Unconfirmed messages
      </Title>
      <UnresolvedList connection={connection.id} isFrozen={isFrozen} />
    </Stack>
  )
}

function Settings({ connection, onLeaving }: Pick<PartsProps, 'connection' | 'onLeaving'>) {
  const { can } = useAccount()
  return (
    <div className={classes['settings']}>
      <Stack>
        <Part id="name" title="Name">
          <NameForm connection={connection} />
          <Text size="sm" c="dimmed">
            Added <TimeAgo at={connection.createdAt} />
          </Text>
        </Part>
        <Part id="lane-settings" title="Pace and time">
          <LaneSettingsForm connection={connection} />
        </Part>
        {connection.channelSettings.length > 0 ? (
          <Part id="channel-settings" title="Settings of the channel">
            <FactList facts={connection.facts.filter(({ isOwn }) => isOwn)} />
            <ChannelSettingsForm connection={connection} />
          </Part>
        ) : null}
      </Stack>
      {can('developer') ? <RemoveCard connection={connection} onLeaving={onLeaving} /> : null}
    </div>
  )
}

/** Apart from the settings, with its effect in numbers. */
function RemoveCard({ connection, onLeaving }: Pick<PartsProps, 'connection' | 'onLeaving'>) {
  const [isAsking, setAsking] = useState(false)
  const { number, waiting } = connection
  const cancelled = waiting.count === 0 ? '' : `${messages(waiting)} that wait would be cancelled. `
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="remove">
      <Title order={2} id="remove" mb={4}>
        Remove this connection
      </Title>
      <Text size="sm" mb="sm">
        {`${cancelled}Requests from ${number} get 404 afterwards. The log is kept.`}
      </Text>
      <Button variant="default" c="red" leftSection={<Trash2 size={16} aria-hidden />} onClick={() => setAsking(true)}>
        Remove…
      </Button>
      <RemoveDialog connection={connection} isOpen={isAsking} onClose={() => setAsking(false)} onBusy={onLeaving} />
    </Paper>
  )
}

/** The watchdog's alarm for missing reports. */
function ReportsMissing({ id }: { readonly id: string }) {
  const { id: account } = useAccount()
  const { data } = useApiQuery('readOpenAlarms', { params: { account } })
  const alarm = data?.items.find(({ kind, object }) => kind === 'reports_missing' && object === id)
  if (!alarm) return null
  return <ReasonNote code={alarm.kind} page="alarms" meaning={alarm.cause} whatToDo={alarm.nextStep} group="attend" />
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

function Actions({ connection }: { readonly connection: ConnectionView }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const pause = useApiMutation('pauseConnection')
  const resume = useApiMutation('resumeConnection')
  if (!can('developer')) return null
  const { id, number, state, waiting } = connection
  const params = { account, id }
  const complain = (error: Error) => showToast(error.message, 'bad')
  const openSettings = () =>
    void navigate({ to: '/a/$account/connections/$id', params, search: { tab: 'settings' } as never })
  return (
    <>
      <ButtonLink
        to="/a/$account/developer/quickstart"
        params={{ account }}
        search={{ from: number } as never}
        variant="default"
        leftSection={<Send size={16} aria-hidden />}
      >
        Send a test
      </ButtonLink>
      {state === 'paused' ? (
        <Button
          leftSection={<Play size={16} aria-hidden />}
          loading={resume.isPending}
          onClick={() =>
            resume
              .mutateAsync({ params })
              .then(() => showToast(`Resumed ${number}: ${messages(waiting)} waiting.`), complain)
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
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={32} aria-label="More actions">
            <Ellipsis size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            onClick={() =>
              void navigate({
                to: '/a/$account/developer/logs',
                params: { account },
                search: { connection: number } as never,
              })
            }
          >
            Show its requests
          </Menu.Item>
          <Menu.Item onClick={openSettings}>Rename…</Menu.Item>
          <Menu.Item c="red" onClick={openSettings}>
            Remove…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  )
}

/** Its channel, its name and its status, beside its number. */
function Named({ connection }: { readonly connection: ConnectionView }) {
  return (
    <>
      <Text size="sm" c="dimmed">
        {nameText(connection)}
      </Text>
      <LaneBadge connection={connection} />
    </>
  )
}

function Strip({ connection }: { readonly connection: ConnectionView }) {
  const { id: account } = useAccount()
  const { id, waiting, oldestWaitingAt, doneAt, pace, unresolved } = connection
  const today = useSentToday([id])(id)
  const notSent = today?.notSent ?? 0
  return (
    <FactStrip label="At a glance">
      <StripFact
        name="Waiting"
        value={countText(waiting)}
        note={
          oldestWaitingAt === null ? (
            'nothing waits'
          ) : (
            <>
              oldest <TimeAgo at={oldestWaitingAt} isQuiet />
            </>
          )
        }
      />
      <StripFact
        name="All sent about"
        value={doneAt === null ? '–' : <TimeAgo at={doneAt} isClock="estimate" />}
        note={doneAt === null && waiting.count > 0 ? 'not known' : null}
      />
      <StripFact name="Pace" value={paceText(pace)} />
      <StripFact name="Last sent" value={pace.lastPublishedAt === null ? '–' : <TimeAgo at={pace.lastPublishedAt} />} />
      <StripFact
        name="Sent today"
        value={today === undefined ? 'Counting…' : (today?.sent.toLocaleString('en') ?? '–')}
        note={notSent > 0 ? `${notSent.toLocaleString('en')} not sent` : today?.sent ? 'of those accepted today' : null}
      />
      <StripFact
        name="Unconfirmed"
        value={
          unresolved.count > 0 ? (
            <TextLink to="/a/$account/connections/$id" params={{ account, id }} hash="unconfirmed" inherit>
              {countText(unresolved)}
            </TextLink>
          ) : (
            '0'
          )
        }
        note={unresolved.count > 0 ? 'decide' : null}
      />
    </FactStrip>
  )
}
