import { Button, Group, NativeSelect, Stack } from '@mantine/core'
import { z } from 'zod'
import { DELIVERY_STATES, type DeliveryRowReply, type WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { type PagedRows, type Rows, useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { Breakable } from '../../components/breakable.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { RowLink } from '../../components/links.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { MessageLink } from './message-link.tsx'
import { DeliveryBadge } from './webhook-badges.tsx'
import { DELIVERY_LABELS, lastTryLabel, SENDING_EVERY_MS } from './webhook-labels.ts'

const DAY_MS = 86_400_000
const search = z.object({
  state: z.enum(DELIVERY_STATES).optional().catch(undefined),
  kind: z.string().optional().catch(undefined),
})

/** The deliveries that the address asks for, and with them the webhook. */
export function useDeliveries(id: string): PagedRows<'listDeliveries'> {
  const { id: account } = useAccount()
  const [{ state, kind }] = useSearchState(search)
  return useApiPages(
    'listDeliveries',
    (after) => ({
      params: { account, id },
      query: { ...(state && { state }), ...(kind && { kind }), ...(after !== undefined && { after }) },
    }),
    { everyMs: ({ items }) => (items.some(({ isBeingSent }) => isBeingSent) ? SENDING_EVERY_MS : null) },
  )
}

interface DeliveryListProps {
  readonly webhook: WebhookReply
  readonly source: Rows<DeliveryRowReply>
}

export function DeliveryList({ webhook, source }: DeliveryListProps) {
  const { id: account, can } = useAccount()
  const [{ state, kind }, change] = useSearchState(search)
  const isFiltered = state !== undefined || kind !== undefined
  return (
    <Stack gap="xs">
      <Group align="flex-end">
        <NativeSelect
          label="State"
          value={state ?? ''}
          data={[
            { value: '', label: 'All' },
            ...DELIVERY_STATES.map((value) => ({ value, label: DELIVERY_LABELS[value] })),
          ]}
          onChange={(event) => change({ state: event.currentTarget.value })}
        />
        <NativeSelect
          label="Notice"
          value={kind ?? ''}
          data={[{ value: '', label: 'All' }, ...webhook.kinds, 'webhook.test']}
          onChange={(event) => change({ kind: event.currentTarget.value })}
        />
        {can('developer') && webhook.state === 'enabled' ? <ReplayFailed id={webhook.id} /> : null}
      </Group>
      <DataTable
        caption="Deliveries of this webhook, newest first"
        columns={columnsOf(account, webhook.id)}
        source={source}
        keyOf={(row) => String(row.position)}
        empty={
          isFiltered ? (
            <EmptyState
              kind="no-match"
              text="No delivery is of this kind."
              onClear={() => change({ state: undefined, kind: undefined })}
            />
          ) : (
            <EmptyState
              kind="nothing-yet"
              title="Nothing was posted yet"
              text="As soon as something happens that it wants to hear of, the delivery stands here. Send a test to try it."
            />
          )
        }
      />
    </Stack>
  )
}

function ReplayFailed({ id }: { readonly id: string }) {
  const { id: account } = useAccount()
  const replay = useApiMutation('replayFailed')
  const click = () =>
    replay
      .mutateAsync({ params: { account, id }, body: { since: Date.now() - DAY_MS } })
      .then(({ replayed }) => showToast(`${replayed} deliveries are on the way again.`))
      .catch((problem: unknown) => showToast(problem instanceof Error ? problem.message : String(problem), 'bad'))
  return (
    <Button variant="default" loading={replay.isPending} onClick={() => void click()}>
      Replay what failed in 24 hours
    </Button>
  )
}

function columnsOf(account: string, id: string): readonly Column<DeliveryRowReply>[] {
  return [
    {
      key: 'kind',
      header: 'Notice',
      cell: (row) => (
        <RowLink
          to="/a/$account/developer/webhooks/$id/deliveries/$position"
          params={{ account, id, position: String(row.position) }}
        >
          <Breakable text={row.kind} />
        </RowLink>
      ),
    },
    { key: 'state', header: 'State', card: 'aside', cell: (row) => <DeliveryBadge delivery={row} /> },
    {
      key: 'message',
      header: 'Message',
      cell: ({ message }) => (message === null ? '' : <MessageLink account={account} message={message} />),
    },
    { key: 'last', header: 'Last try', wraps: true, cell: lastTryLabel },
    { key: 'tries', header: 'Tries', align: 'right', cell: (row) => row.tries },
    { key: 'made', header: 'Made', hideBelow: 1200, cell: (row) => <TimeAgo at={row.createdAt} isQuiet /> },
    {
      key: 'next',
      header: 'Next try',
      cell: (row) => (row.nextTryAt === null ? '' : <TimeAgo at={row.nextTryAt} isQuiet />),
    },
  ]
}
