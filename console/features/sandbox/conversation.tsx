import { Box, Button, Center, Group, Loader, Paper, Text, Title, VisuallyHidden } from '@mantine/core'
import { useThrottledValue } from '@mantine/hooks'
import { ArrowDown, ArrowLeft, Eye } from 'lucide-react'
import { Fragment, type UIEvent, useEffect, useRef, useState } from 'react'
import type { Delivery, Sandbox, SandboxCommandView } from '../../../src/contract/console/sandbox.ts'
import { useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { showErrorToast, showToast } from '../../components/toast.ts'
import { withoutMarks } from '../../components/without-marks.ts'
import { Bubble } from './bubble.tsx'
import classes from './sandbox.module.css'
import { dayOf, readText, typeWord } from './sandbox-labels.ts'
import { usePlace } from './use-place.ts'

// The number of pages that are searched automatically. Up to this number, pages stay live.
const SEARCHED_PAGES = 3

interface ConversationProps {
  readonly connection: Sandbox
  readonly to: string | undefined
  /** The failure that this recipient's number simulates. */
  readonly command: SandboxCommandView | undefined
}

/** One recipient's phone. */
export function Conversation({ connection, to, command }: ConversationProps) {
  if (to === undefined) {
    return (
      <Paper withBorder className={classes['conversation'] ?? ''} data-empty>
        <Center h="100%" p="lg">
          <Text c="dimmed" ta="center">
            Choose a chat to see what was delivered.
          </Text>
        </Center>
      </Paper>
    )
  }
  return <OpenConversation connection={connection} to={to} command={command} />
}

function OpenConversation({ connection, to, command }: ConversationProps & { readonly to: string }) {
  const { id: account } = useAccount()
  const conversation = useApiPages('readConversation', (before) => ({
    params: { account, connection: connection.id, to },
    query: before === undefined ? {} : { before },
  }))
  // Pages come newest first, each in the order of delivery.
  const rows = conversation.pages.toReversed().flatMap(({ items }) => items)
  const { hasOlder, isLoadingOlder, loadOlder } = conversation
  // The last page held nothing for this recipient, so its deliveries are further back, if there are any.
  const isInVain = hasOlder && conversation.pages.at(-1)?.items.length === 0
  const isSearching = isInVain && conversation.pages.length < SEARCHED_PAGES
  useEffect(() => {
    if (isSearching && !isLoadingOlder) loadOlder()
  }, [isSearching, isLoadingOlder, loadOlder])
  return (
    <Paper withBorder component="section" className={classes['conversation'] ?? ''} aria-label="Chat">
      <ConversationHead
        account={account}
        connection={connection}
        to={to}
        isUnread={rows.some(({ state }) => state === 'PUBLISHED' || state === 'DELIVERED')}
      />
      {conversation.problem ? <ProblemNote problem={conversation.problem} onRetry={conversation.retry} /> : null}
      <Announcer rows={rows} isReady={!conversation.isLoading} />
      <Scroll rows={rows}>
        {conversation.isLoading || isSearching ? <Searching isFar={isSearching} /> : null}
        {hasOlder && !isSearching ? (
          <Center py="xs">
            <Button variant="default" size="compact-sm" loading={isLoadingOlder} onClick={loadOlder}>
              {isInVain ? 'Search further back' : 'Load older'}
            </Button>
          </Center>
        ) : null}
        {!conversation.isLoading && !isSearching && rows.length === 0 ? (
          <NothingHere command={command} isAll={!hasOlder} />
        ) : null}
        <Bubbles rows={rows} connection={connection} />
        {conversation.isResting ? <Resting onReturn={conversation.backToNewest} /> : null}
      </Scroll>
    </Paper>
  )
}

interface HeadProps {
  readonly account: string
  readonly connection: Sandbox
  readonly to: string
  readonly isUnread: boolean
}

function ConversationHead({ account, connection, to, isUnread }: HeadProps) {
  const [{ find }] = usePlace()
  const read = useApiMutation('markChatRead')
  const markRead = () =>
    void read
      .mutateAsync({ params: { account, connection: connection.id, to } })
      .then(({ count }) => showToast(readText(count)), showErrorToast)
  return (
    <Group gap="sm" px="md" py="xs" wrap="nowrap" className={classes['head'] ?? ''}>
      <TextLink
        to="/a/$account/sandbox"
        params={{ account }}
        search={{ connection: connection.id, find } as never}
        className={classes['back'] ?? ''}
        aria-label="All chats"
      >
        <ArrowLeft size={20} aria-hidden />
      </TextLink>
      <div>
        <Title order={2}>
          <MaskedNumber number={to} />
        </Title>
        <Text size="xs" c="dimmed">
          from <MaskedNumber number={connection.number} />
        </Text>
      </div>
      {isUnread ? (
        <Button
          variant="default"
          size="compact-sm"
          ml="auto"
          leftSection={<Eye size={14} aria-hidden />}
          loading={read.isPending}
          onClick={markRead}
        >
          Mark read
        </Button>
      ) : null}
    </Group>
  )
}

function Bubbles({ rows, connection }: { readonly rows: readonly Delivery[]; readonly connection: Sandbox }) {
  const now = Date.now()
  return (
    <ol className={classes['bubbles'] ?? ''}>
      {rows.map((row, index) => {
        const day = dayOf(row.at, now)
        const before = rows[index - 1]
        return (
          <Fragment key={row.key}>
            {before === undefined || dayOf(before.at, now) !== day ? (
              <li className={classes['day'] ?? ''}>
                <Text span size="xs" fw={600}>
                  {day}
                </Text>
              </li>
            ) : null}
            <li>
              <Bubble delivery={row} connection={connection.id} />
            </li>
          </Fragment>
        )
      })}
    </ol>
  )
}

const NEAR_BOTTOM_PX = 40

/**
 * Begins at its end, and stays there while the end is visible. The style sheet reverses its main axis, so that the browser
 * keeps the position when older bubbles are added above.
 */
function Scroll({ rows, children }: { readonly rows: readonly Delivery[]; readonly children: React.ReactNode }) {
  const place = useRef<HTMLDivElement>(null)
  const newest = rows.at(-1)?.key
  const [isAtEnd, setAtEnd] = useState(true)
  const [seen, setSeen] = useState(newest)
  useEffect(() => {
    if (isAtEnd) setSeen(newest)
  }, [isAtEnd, newest])
  const seenAt = rows.findIndex(({ key }) => key === seen)
  const newCount = seenAt < 0 || isAtEnd ? 0 : rows.length - 1 - seenAt
  return (
    <>
      {/* Scroll areas must be reachable by keyboard. */}
      <Box
        ref={place}
        className={classes['scroll'] ?? ''}
        tabIndex={0}
        role="group"
        aria-label="Messages, in order of delivery"
        onScroll={({ currentTarget }: UIEvent<HTMLDivElement>) =>
          setAtEnd(Math.abs(currentTarget.scrollTop) < NEAR_BOTTOM_PX)
        }
      >
        <div>{children}</div>
      </Box>
      {newCount > 0 ? (
        <Center className={classes['news'] ?? ''}>
          <Button
            size="compact-sm"
            leftSection={<ArrowDown size={14} aria-hidden />}
            onClick={() => place.current?.scrollTo({ top: 0 })}
          >
            {newCount} new
          </Button>
        </Center>
      ) : null}
    </>
  )
}

const ANNOUNCE_EVERY_MS = 5_000

/** Announces new deliveries, but not those that were there already. */
function Announcer({ rows, isReady }: { readonly rows: readonly Delivery[]; readonly isReady: boolean }) {
  const newest = rows.at(-1)
  const [first, setFirst] = useState<string | null>(null)
  useEffect(() => {
    if (isReady && first === null) setFirst(newest?.key ?? 'none')
  }, [isReady, first, newest])
  const isNew = first !== null && newest !== undefined && newest.key !== first
  const words = isNew ? `New: ${newest.text ?? `${typeWord(newest.type)} ${newest.media?.name ?? ''}`}` : ''
  const announced = useThrottledValue(words, ANNOUNCE_EVERY_MS)
  return <VisuallyHidden role="status">{announced}</VisuallyHidden>
}

function Searching({ isFar }: { readonly isFar: boolean }) {
  return (
    <Center py="md">
      <Group gap="xs">
        <Loader size="xs" aria-hidden />
        <Text size="sm" c="dimmed">
          {isFar ? 'Searching further back…' : 'Loading…'}
        </Text>
      </Group>
    </Center>
  )
}

function Resting({ onReturn }: { readonly onReturn: () => void }) {
  return (
    <Group justify="center" gap="md" py="xs">
      <Text size="sm" c="dimmed">
        You are reading far back: new messages wait until you return.
      </Text>
      <Button variant="default" size="compact-sm" onClick={onReturn}>
        Back to the newest
      </Button>
    </Group>
  )
}

interface NothingHereProps {
  readonly command: SandboxCommandView | undefined
  /** False: only the newest deliveries have been searched. */
  readonly isAll: boolean
}

function NothingHere({ command, isAll }: NothingHereProps) {
  const place = isAll ? 'through this connection' : 'by the newest deliveries of this connection'
  return (
    <Center py="lg" px="md">
      <Text size="sm" c="dimmed" ta="center">
        {command
          ? `Nothing is here. What is sent to this number: ${command.happens}. How it ends: ${withoutMarks(command.ends)}.`
          : `Nothing was delivered to this number ${place}. Send it a message below.`}
      </Text>
    </Center>
  )
}
