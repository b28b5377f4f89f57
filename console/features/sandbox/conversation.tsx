import { Box, Button, Center, Group, Loader, Paper, Text, Title, VisuallyHidden } from '@mantine/core'
import { useThrottledValue } from '@mantine/hooks'
import { ArrowDown, ArrowLeft } from 'lucide-react'
import { Fragment, type UIEvent, useEffect, useRef, useState } from 'react'
import type { Delivery, Sandbox, SandboxCommandView } from '../../../src/contract/console/sandbox.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { Bubble } from './bubble.tsx'
import classes from './sandbox.module.css'
import { dayOf, typeWord } from './sandbox-labels.ts'

// So many pages are searched without being asked. As long as there are no more of them, they stay live.
const SEARCHED_PAGES = 3

interface ThreadProps {
  readonly connection: Sandbox
  readonly to: string | undefined
  /** What this recipient's number asks the sandbox to do. */
  readonly command: SandboxCommandView | undefined
}

/** One recipient's phone. */
export function Thread({ connection, to, command }: ThreadProps) {
  if (to === undefined) {
    return (
      <Paper withBorder className={classes['thread'] ?? ''} data-empty>
        <Center h="100%" p="lg">
          <Text c="dimmed" ta="center">
            Choose a chat to see what was delivered.
          </Text>
        </Center>
      </Paper>
    )
  }
  return <OpenThread connection={connection} to={to} command={command} />
}

function OpenThread({ connection, to, command }: ThreadProps & { readonly to: string }) {
  const { id: account } = useAccount()
  const thread = useApiPages('readThread', (before) => ({
    params: { account, connection: connection.id, to },
    query: before === undefined ? {} : { before },
  }))
  // The pages come the newest first, and each in order of delivery.
  const rows = thread.pages.toReversed().flatMap(({ items }) => items)
  const { hasOlder, isLoadingOlder, loadOlder } = thread
  // The last page was looked through in vain: what was delivered to this recipient lies further back, if anywhere.
  const isInVain = hasOlder && thread.pages.at(-1)?.items.length === 0
  const isSearching = isInVain && thread.pages.length < SEARCHED_PAGES
  useEffect(() => {
    if (isSearching && !isLoadingOlder) loadOlder()
  }, [isSearching, isLoadingOlder, loadOlder])
  return (
    <Paper withBorder component="section" className={classes['thread'] ?? ''} aria-label="Chat">
      <ThreadHead account={account} connection={connection} to={to} />
      {thread.problem ? <ProblemNote problem={thread.problem} onRetry={thread.retry} /> : null}
      <Announcer rows={rows} isReady={!thread.isLoading} />
      <Scroll rows={rows}>
        {thread.isLoading || isSearching ? <Looking isFar={isSearching} /> : null}
        {hasOlder && !isSearching ? (
          <Center py="xs">
            <Button variant="default" size="compact-sm" loading={isLoadingOlder} onClick={loadOlder}>
              {isInVain ? 'Look further back' : 'Load older'}
            </Button>
          </Center>
        ) : null}
        {!thread.isLoading && !isSearching && rows.length === 0 ? (
          <NothingHere command={command} isAll={!hasOlder} />
        ) : null}
        <Bubbles rows={rows} connection={connection} />
        {thread.isResting ? <Resting onReturn={thread.backToNewest} /> : null}
      </Scroll>
    </Paper>
  )
}

function ThreadHead({ account, connection, to }: { account: string; connection: Sandbox; to: string }) {
  return (
    <Group gap="sm" px="md" py="xs" wrap="nowrap" className={classes['head'] ?? ''}>
      <TextLink
        to="/a/$account/sandbox"
        params={{ account }}
        search={{ connection: connection.id } as never}
        className={classes['back'] ?? ''}
        aria-label="All chats"
      >
        <ArrowLeft size={20} aria-hidden />
      </TextLink>
      <div>
        <Title order={2} size="h5">
          <MaskedNumber number={to} />
        </Title>
        <Text size="xs" c="dimmed">
          from <MaskedNumber number={connection.number} />
        </Text>
      </div>
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
 * Begins at its end, and stays there while the end is what one looks at. Its main axis is turned round by the style
 * sheet: the browser then keeps the place by itself when older bubbles come in above.
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
      {/* What scrolls must be reachable by keyboard. */}
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

/** Says what has just come in, but not what was there already. */
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

function Looking({ isFar }: { readonly isFar: boolean }) {
  return (
    <Center py="md">
      <Group gap="xs">
        <Loader size="xs" aria-hidden />
        <Text size="sm" c="dimmed">
          {isFar ? 'Looking further back…' : 'Loading…'}
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
  /** False: only the newest deliveries have been looked through. */
  readonly isAll: boolean
}

function NothingHere({ command, isAll }: NothingHereProps) {
  const place = isAll ? 'through this connection' : 'by the newest deliveries of this connection'
  return (
    <Center py="lg" px="md">
      <Text size="sm" c="dimmed" ta="center">
        {command
          ? `Nothing is here. What is sent to this number: ${command.happens}. How it ends: ${command.ends.replaceAll('`', '')}.`
          : `Nothing was delivered to this number ${place}. Send it a message with the form below.`}
      </Text>
    </Center>
  )
}
