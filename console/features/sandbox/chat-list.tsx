import {
  Box,
  Button,
  Group,
  Kbd,
  NavLink,
  type NavLinkProps,
  Skeleton,
  Stack,
  Text,
  TextInput,
  VisuallyHidden,
} from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Chat } from '../../../src/contract/console/sandbox.ts'
import { useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import type { Native } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useTypedSearch } from '../../components/typed-search.ts'
import { soughtOf } from '../connections/connection-labels.ts'
import classes from './sandbox.module.css'
import { typeWord } from './sandbox-labels.ts'
import { usePlace } from './use-place.ts'

interface ChatListProps {
  readonly connection: string
  readonly open: string | undefined
}

/** The recipients of the latest deliveries, like the list of chats on a phone. */
export function ChatList({ connection, open }: ChatListProps) {
  const { id: account } = useAccount()
  const [{ find }] = usePlace()
  const chats = useApiPages('listChats', (before) => ({
    params: { account, connection },
    query: { ...(before === undefined ? {} : { before }), ...(find === undefined ? {} : { find }) },
  }))
  const isBounded = chats.pages[0]?.isAll === false
  useNewestChat(open === undefined && find === undefined ? chats.rows[0]?.to : undefined)
  return (
    <Stack component="section" gap="xs" aria-label="Chats" className={classes['chats'] ?? ''}>
      <SearchField />
      {chats.problem ? <ProblemNote problem={chats.problem} onRetry={chats.retry} /> : null}
      {chats.isLoading ? <Waiting /> : null}
      {!chats.isLoading && !chats.problem && chats.rows.length === 0 ? (
        find === undefined ? (
          <NothingYet />
        ) : (
          <NoMatch find={find} />
        )
      ) : null}
      <ol className={classes['chat-list'] ?? ''}>
        {chats.rows.map((chat) => (
          <li key={chat.to}>
            <ChatLink account={account} connection={connection} chat={chat} isOpen={chat.to === open} />
          </li>
        ))}
      </ol>
      {chats.hasOlder ? (
        <Button variant="default" size="compact-sm" loading={chats.isLoadingOlder} onClick={chats.loadOlder}>
          Older chats
        </Button>
      ) : null}
      {isBounded && !chats.hasOlder ? (
        <Text size="xs" c="dimmed">
          These are the chats of the newest {chats.pages[0]?.scanned.toLocaleString()} deliveries. Open an older one by
          its number.
        </Text>
      ) : null}
    </Stack>
  )
}

// Below this width, the list and the open chat take turns.
const BESIDE = '(min-width: 48.01em)'

/** Opens the newest chat at first, where both fit beside each other. */
function useNewestChat(to: string | undefined): void {
  const [, go] = usePlace()
  const isDone = useRef(false)
  useEffect(() => {
    if (to === undefined || isDone.current || !window.matchMedia(BESIDE).matches) return
    isDone.current = true
    go({ to })
  }, [to, go])
}

interface ChatLinkProps {
  readonly account: string
  readonly connection: string
  readonly chat: Chat
  readonly isOpen: boolean
}

const ChatItem = createLink((props: NavLinkProps & Native<NavLinkProps>) => <NavLink component="a" {...props} />)

function ChatLink({ account, connection, chat, isOpen }: ChatLinkProps) {
  const [{ find }] = usePlace()
  const { to, lastText, lastType, lastAt, count } = chat
  return (
    <ChatItem
      to="/a/$account/sandbox"
      params={{ account }}
      search={{ connection, to, find } as never}
      active={isOpen}
      aria-current={isOpen ? 'true' : undefined}
      data-row-link=""
      className={classes['chat'] ?? ''}
      label={
        <Group justify="space-between" wrap="nowrap" gap="xs">
          <MaskedNumber number={to} />
          <Text span size="xs" c="dimmed">
            <TimeAgo at={lastAt} isQuiet />
          </Text>
        </Group>
      }
      description={
        <Group component="span" justify="space-between" wrap="nowrap" gap="xs">
          <Text span size="xs" c="dimmed" truncate>
            {lastType === 'message' ? lastText : `${typeWord(lastType)}: ${lastText}`}
          </Text>
          <Text span size="xs" c="dimmed" fw={600}>
            {count}
            <VisuallyHidden component="span"> delivered</VisuallyHidden>
          </Text>
        </Group>
      }
    />
  )
}

/** Narrows the list; Enter opens the chat of a whole number, also one that is not listed. */
function SearchField() {
  const [{ find }, go] = usePlace()
  const [words, type] = useTypedSearch({
    find,
    onFind: (sought) => go({ find: sought }),
    read: soughtOf,
  })
  return (
    <form
      noValidate
      data-filters
      onSubmit={(event) => {
        event.preventDefault()
        const to = soughtOf(words)
        if (to !== undefined && WHOLE_NUMBER.test(to)) go({ to, at: undefined }, { isStep: true })
      }}
    >
      <TextInput
        type="search"
        aria-label="Search by number or text"
        placeholder="Number or text"
        autoComplete="off"
        maxLength={100}
        value={words}
        leftSection={<Search size={16} aria-hidden />}
        rightSection={<Kbd size="xs">/</Kbd>}
        onChange={({ currentTarget }) => type(currentTarget.value)}
      />
    </form>
  )
}

const WHOLE_NUMBER = /^\d{7,15}$/

function NoMatch({ find }: { readonly find: string }) {
  const [, go] = usePlace()
  return (
    <Box py="md">
      <Text size="sm" mb="xs">
        No delivered message has “{find}” in its number, text or file name.
      </Text>
      {WHOLE_NUMBER.test(find) ? (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => go({ to: find, at: undefined, find: undefined }, { isStep: true })}
        >
          {`Open the chat of ${find}`}
        </Button>
      ) : null}
    </Box>
  )
}

function NothingYet() {
  return (
    <Box py="md">
      <Text size="sm" fw={600}>
        Nothing was delivered yet
      </Text>
      <Text size="sm" c="dimmed">
        Send a message with the form on this page, or call the API from your program. It appears here the moment it is
        delivered.
      </Text>
    </Box>
  )
}

function Waiting() {
  return (
    <Stack gap="xs" mih={160} aria-busy="true">
      <Skeleton height={48} />
      <Skeleton height={48} />
      <Skeleton height={48} />
    </Stack>
  )
}
