import { Box, Group, NativeSelect } from '@mantine/core'
import { ShieldCheck } from 'lucide-react'
import { useRef, useState } from 'react'
import type { Sandbox as Connection, SandboxCommandView } from '../../../src/contract/console/sandbox.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ButtonLink } from '../../components/links.tsx'
import { maskNumber } from '../../components/masked-number.tsx'
import { namedNumber } from '../../components/named-number.ts'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { GroupLabel } from '../../components/state-label.tsx'
import { useHiddenNumbers } from '../../components/stored-setting.ts'
import { ChatList } from './chat-list.tsx'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { DeliveryDrawer } from './delivery-drawer.tsx'
import { FailureCommands } from './failure-commands.tsx'
import { InboxMenu } from './inbox-menu.tsx'
import classes from './sandbox.module.css'
import { usePlace } from './use-place.ts'

/** The phones of all recipients of the sandbox. */
export function Sandbox() {
  const { id: account, can } = useAccount()
  const found = useApiQuery('listSandboxes', { params: { account } }, { isNewOnOpen: true })
  const [place, go] = usePlace()
  const [isHidden] = useHiddenNumbers()
  const connections = found.data?.connections ?? []
  const opened = useOpenedFirst(connections, found.isFetching)
  const connection = connections.find(({ id }) => id === (place.connection ?? opened)) ?? connections[0]
  return (
    <Page
      title="Sandbox inbox"
      about="What recipients would have on their phones, in the order in which it was delivered."
      actions={
        connection && can('developer') ? (
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Box data-filters miw={0} style={{ flex: '1 1 200px' }}>
              <NativeSelect
                aria-label="Connection"
                value={connection.id}
                onChange={({ currentTarget }) => go({ connection: currentTarget.value, to: undefined, at: undefined })}
                data={connections.map((one) => ({ value: one.id, label: `From ${labelOf(one, isHidden)}` }))}
              />
            </Box>
            <InboxMenu connection={connection.id} label={labelOf(connection, isHidden)} />
          </Group>
        ) : null
      }
      badge={
        <GroupLabel group="sent" icon={ShieldCheck}>
          Nothing leaves this machine
        </GroupLabel>
      }
    >
      {found.error ? <ProblemNote problem={found.error} onRetry={() => void found.refetch()} /> : null}
      {found.data && !connection ? <NoConnection account={account} /> : null}
      {connection && !can('developer') ? <NotForViewers account={account} /> : null}
      {connection && can('developer') ? (
        <Inbox key={connection.id} connection={connection} commands={found.data?.commands ?? []} />
      ) : null}
    </Page>
  )
}

/**
 * The one with the newest delivery when the page was opened: what comes later does not change the inbox under the reader.
 * While the list loads, the page has that of an earlier visit.
 */
function useOpenedFirst(connections: readonly Connection[], isLoading: boolean): string | undefined {
  const opened = useRef<string>(undefined)
  const newest = connections.toSorted((one, other) => (other.lastAt ?? 0) - (one.lastAt ?? 0))[0]?.id
  if (!isLoading) opened.current ??= newest
  return opened.current ?? newest
}

function labelOf({ number, name, state }: Connection, isHidden: boolean): string {
  const shown = namedNumber({ number: isHidden ? maskNumber(number) : number, name })
  return state === 'active' ? shown : `${shown} (${state})`
}

interface InboxProps {
  readonly connection: Connection
  readonly commands: readonly SandboxCommandView[]
}

function Inbox({ connection, commands }: InboxProps) {
  const [{ to, at }, go] = usePlace()
  // A message that a button sends, and a counter that each click increases, so that two clicks are two messages.
  const [order, setOrder] = useState<{ readonly recipient: string; readonly number: number } | null>(null)
  const command = commands.find(({ recipient }) => recipient === to)
  const trySending = (recipient: string) => {
    go({ to: recipient })
    setOrder((last) => ({ recipient, number: (last?.number ?? 0) + 1 }))
  }
  return (
    <>
      <div className={classes['inbox'] ?? ''} data-open={to !== undefined}>
        <ChatList connection={connection.id} open={to} />
        <div className={classes['thread']}>
          <Conversation key={to ?? ''} connection={connection} to={to} command={command} />
          <Composer connection={connection} to={to} order={order} onSent={(recipient) => go({ to: recipient })} />
        </div>
      </div>
      <FailureCommands commands={commands} onTry={trySending} />
      <DeliveryDrawer connection={connection.id} at={at} onClose={() => go({ at: undefined })} />
    </>
  )
}

function NoConnection({ account }: { readonly account: string }) {
  return (
    <EmptyState
      kind="nothing-yet"
      title="No sandbox connection yet"
      text="A sandbox connection takes messages like any other and delivers them here instead of to a network. Add one, and send it a message."
      action={
        <ButtonLink to="/a/$account/connections/new" params={{ account }}>
          Add a connection
        </ButtonLink>
      }
    />
  )
}

function NotForViewers({ account }: { readonly account: string }) {
  return (
    <EmptyState
      kind="nothing-yet"
      title="The inbox shows texts and numbers"
      text="Viewers see neither. Ask an owner of this account to make you a developer, or see the results of the messages in the API log."
      action={
        <ButtonLink to="/a/$account/developer/logs" params={{ account }} variant="default">
          Open the API log
        </ButtonLink>
      }
    />
  )
}
