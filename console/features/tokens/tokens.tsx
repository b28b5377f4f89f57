import { Code, Group, Stack, Tabs, Text, VisuallyHidden } from '@mantine/core'
import { KeyRound, Sparkles } from 'lucide-react'
import { Suspense, useState } from 'react'
import { z } from 'zod'
import type { TokenRowReply, TokenUseReply } from '../../../src/contract/console/tokens.ts'
import { nameActor } from '../../../src/format/name-actor.ts'
import { type PagedRows, useApiPages, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { localDateTime } from '../../components/instants.ts'
import { ButtonLink, RowLink, TextLink } from '../../components/links.tsx'
import { lazily } from '../../components/load-later.ts'
import { Page } from '../../components/page.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { TokenEnd } from './status-badge.tsx'
import { counted, eventLabel, isIdle, limitLabel, type TokenChange, tokenStart } from './token-labels.ts'
import { TokenMenu } from './token-menu.tsx'

const USE_EVERY_MS = 30_000

const search = z.object({
  tab: z.enum(['active', 'expired', 'deleted']).catch('active'),
  /** The newly created token. */
  made: z.string().optional().catch(undefined),
})
type Tab = z.output<typeof search>['tab']

// Most visits change nothing.
const TokenDialogs = lazily(async () => (await import('./token-dialogs.tsx')).TokenDialogs)

interface Asked {
  readonly token: TokenRowReply
  /** Null: it was answered. */
  readonly change: TokenChange | null
}

export function Tokens() {
  const account = useAccount()
  const [asked, ask] = useState<Asked | null>(null)
  const [{ tab }, change] = useSearchState(search)
  const source = useApiPages('listTokens', (after) => ({
    params: { account: account.id },
    query: { tab, ...(after === undefined ? {} : { after }) },
  }))
  const counts = source.pages[0]?.counts
  return (
    <Page
      title="API tokens"
      about="Your programs send one in the header x-api-key. It may do only what its events allow, and it expires."
      actions={account.can('developer') ? <CreateLink /> : null}
    >
      <Tabs
        value={tab}
        onChange={(next) => change({ tab: next === 'active' ? undefined : next }, { isStep: true })}
        keepMounted={false}
      >
        <Tabs.List aria-label="Which tokens">
          <Tabs.Tab value="active">{tabLabel('Active', counts?.active)}</Tabs.Tab>
          <Tabs.Tab value="expired">{tabLabel('Expired', counts?.expired)}</Tabs.Tab>
          <Tabs.Tab value="deleted">{tabLabel('Deleted', counts?.deleted)}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          {/* The counts may be those of the tab before, the rows may not. */}
          <TokenList
            key={tab}
            tab={tab}
            source={{ ...source, isLoading: source.isLoading || source.isPrevious }}
            onAsk={(token, change) => ask({ token, change })}
          />
        </Tabs.Panel>
      </Tabs>
      {/* Not in its row, which may leave the list while the secret of its successor is shown. */}
      {asked === null ? null : (
        <Suspense>
          <TokenDialogs
            token={asked.token}
            opened={asked.change}
            onClose={() => ask({ token: asked.token, change: null })}
          />
        </Suspense>
      )}
    </Page>
  )
}

/** With how many there are, once that is known. */
function tabLabel(name: string, count: number | undefined): string {
  return count === undefined ? name : `${name} ${count.toLocaleString('en')}`
}

function CreateLink() {
  const { id } = useAccount()
  return (
    <ButtonLink
      to="/a/$account/developer/tokens/new"
      params={{ account: id }}
      leftSection={<KeyRound size={16} aria-hidden />}
    >
      Create API Token
    </ButtonLink>
  )
}

interface TokenListProps {
  readonly tab: Tab
  readonly source: PagedRows<'listTokens'>
  readonly onAsk: (token: TokenRowReply, change: TokenChange) => void
}

function TokenList({ tab, source, onAsk }: TokenListProps) {
  const { id: account } = useAccount()
  const [{ made }] = useSearchState(search)
  // Separate from the list and not at every change, because counting is expensive.
  const use = useApiQuery('countTokenUse', { params: { account } }, { everyMs: USE_EVERY_MS, isLive: false })
  const use24 = use.data
  return (
    <Stack gap="xs">
      <DataTable
        caption={`${tab} API tokens, newest first`}
        columns={columnsOf({ account, use: use24, tab, made, onAsk })}
        source={source}
        keyOf={(row) => row.id}
        empty={<NoTokens tab={tab} />}
      />
      {use24 && !use24.isComplete && source.rows.length > 0 ? (
        <Text size="xs" c="dimmed">
          This account is busy: requests are counted since {localDateTime(use24.countedFrom)}. “+” means at least.
        </Text>
      ) : null}
    </Stack>
  )
}

interface Seen {
  readonly account: string
  readonly use: TokenUseReply | undefined
  readonly tab: Tab
  readonly made: string | undefined
  readonly onAsk: TokenListProps['onAsk']
}

function columnsOf({ account, use, tab, made, onAsk }: Seen): readonly Column<TokenRowReply>[] {
  return [
    {
      key: 'name',
      header: 'Name',
      cell: (row) => (
        <Group component="span" display="inline-flex" gap={6}>
          <RowLink to="/a/$account/developer/tokens/$id" params={{ account, id: row.id }}>
            {row.name}
          </RowLink>
          {row.id === made ? (
            <GroupLabel group="moving" icon={Sparkles}>
              New
            </GroupLabel>
          ) : null}
        </Group>
      ),
    },
    {
      key: 'token',
      header: 'Token',
      hideBelow: 1200,
      card: 'hidden',
      cell: (row) => <Code>{tokenStart(row.prefix)}</Code>,
    },
    { key: 'events', header: 'Events', width: 200, wraps: true, cell: (row) => <Events events={row.events} /> },
    { key: 'limits', header: 'Limits', hideBelow: 1200, cell: limitLabel },
    {
      key: 'end',
      header: tab === 'deleted' ? 'Deleted' : tab === 'expired' ? 'Expired' : 'Expires',
      cell: (row) => <TokenEnd token={row} />,
    },
    { key: 'used', header: 'Last used', cell: (row) => <LastUsed row={row} use={use} /> },
    {
      key: 'requests',
      header: 'Requests in 24 h',
      align: 'right',
      cell: (row) => <Requests account={account} id={row.id} use={use} />,
    },
    {
      key: 'by',
      header: 'Created by',
      hideBelow: 1400,
      card: 'hidden',
      cell: (row) => (row.createdBy === null ? 'Unknown' : nameActor(row.createdBy)),
    },
    {
      key: 'menu',
      header: <VisuallyHidden>Actions</VisuallyHidden>,
      width: 42,
      card: 'aside',
      align: 'right',
      cell: (row) => <TokenMenu token={row} onChange={(change) => onAsk(row, change)} />,
    },
  ]
}

function Events({ events }: { readonly events: readonly string[] }) {
  if (events.length > 0) return events.map(eventLabel).join(', ')
  return (
    <Text size="sm" component="span" title="Every request made with it is refused with 403.">
      None: refused everywhere
    </Text>
  )
}

function LastUsed({ row, use }: { readonly row: TokenRowReply; readonly use: TokenUseReply | undefined }) {
  const newest = use?.callers
    .filter(({ tokenId }) => tokenId === row.id)
    .reduce<TokenUseReply['callers'][number] | null>(
      (best, one) => (best && best.lastAt > one.lastAt ? best : one),
      null,
    )
  // The request has milliseconds, the token's own note only minutes.
  const at = Math.max(row.lastUsedAt ?? 0, newest?.lastAt ?? 0)
  return (
    <>
      {at === 0 ? 'Never' : <TimeAgo at={at} isQuiet />}
      {newest?.address || isIdle(row) ? (
        <Text span size="sm" c="dimmed">
          {newest?.address ? ` from ${newest.address}` : ''}
          {isIdle(row) ? ', idle for over 30 days' : ''}
        </Text>
      ) : null}
    </>
  )
}

function Requests({ account, id, use }: { account: string; id: string; use: TokenUseReply | undefined }) {
  if (!use) return null
  const count = use.callers.filter(({ tokenId }) => tokenId === id).reduce((sum, { requests }) => sum + requests, 0)
  const text = `${count.toLocaleString('en')}${use.isComplete ? '' : '+'}`
  if (count === 0) return text
  return (
    <TextLink
      to="/a/$account/developer/logs"
      params={{ account }}
      search={{ token: id } as never}
      inherit
      aria-label={`${counted(count, 'request')}: show them in the API logs`}
    >
      {text}
    </TextLink>
  )
}

const NOTHING: Readonly<Record<Tab, { readonly title: string; readonly text: string }>> = {
  active: {
    title: 'No active token',
    text: 'A program needs a token to send messages. It is shown once, when it is made; only a hash of it is kept.',
  },
  expired: { title: 'No token has expired', text: 'Requests made with an expired token are refused with 401.' },
  deleted: {
    title: 'No token was deleted',
    text: 'Deleted tokens stay here, so that their requests can be found in the API logs.',
  },
}

function NoTokens({ tab }: { readonly tab: Tab }) {
  const account = useAccount()
  const isFirst = tab === 'active' && account.can('developer')
  return <EmptyState kind="nothing-yet" {...NOTHING[tab]} action={isFirst ? <CreateLink /> : null} />
}
