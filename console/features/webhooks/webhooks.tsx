import { Webhook as WebhookIcon } from 'lucide-react'
import type { WebhookReply } from '../../../src/contract/console/webhooks.ts'
import { rowsOf, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { Breakable } from '../../components/breakable.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ButtonLink, RowLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { WebhookBadge } from './webhook-badges.tsx'
import { lastDayLabel } from './webhook-labels.ts'

const EVERY_MS = 10_000

export function Webhooks() {
  const account = useAccount()
  const webhooks = useApiQuery('listWebhooks', { params: { account: account.id } }, { everyMs: EVERY_MS })
  return (
    <Page
      title="Webhooks"
      about="Nuncio posts notices to your URLs: about messages, connections, tokens that expire soon, and alarms. Each is signed. One that fails is tried again for more than a day."
      actions={account.can('developer') ? <AddLink /> : null}
    >
      <DataTable
        caption="Webhooks of this account, the oldest first"
        columns={columnsOf(account.id)}
        source={rowsOf(webhooks, ({ items }) => items)}
        keyOf={(row) => row.id}
        empty={
          <EmptyState
            kind="nothing-yet"
            title="No webhook yet"
            text="Add the URL of your program, and choose what it is notified of, such as failed messages."
            action={account.can('developer') ? <AddLink /> : null}
          />
        }
      />
    </Page>
  )
}

function AddLink() {
  const { id } = useAccount()
  return (
    <ButtonLink
      to="/a/$account/developer/webhooks/new"
      params={{ account: id }}
      leftSection={<WebhookIcon size={16} aria-hidden />}
    >
      Add webhook
    </ButtonLink>
  )
}

function columnsOf(account: string): readonly Column<WebhookReply>[] {
  return [
    {
      key: 'url',
      header: 'Address',
      width: '36%',
      wraps: true,
      cell: (row) => (
        <RowLink
          to="/a/$account/developer/webhooks/$id"
          params={{ account, id: row.id }}
          style={{ overflowWrap: 'anywhere' }}
        >
          <Breakable text={row.url} />
        </RowLink>
      ),
    },
    { key: 'description', header: 'Description', wraps: true, card: 'text', cell: (row) => row.description },
    { key: 'state', header: 'State', card: 'aside', width: 110, cell: (row) => <WebhookBadge webhook={row} /> },
    { key: 'day', header: 'Last 24 hours', cell: lastDayLabel },
    {
      key: 'last',
      header: 'Last delivered',
      cell: (row) => (row.lastDeliveredAt === null ? 'Never' : <TimeAgo at={row.lastDeliveredAt} isQuiet />),
    },
    { key: 'kinds', header: 'Notices', align: 'right', hideBelow: 1200, cell: (row) => row.kinds.length },
  ]
}
