import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { ConnectionView, WaitingMessage } from '../../../src/contract/console/connections.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { cancelledText } from '../../components/cancelled-text.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { RowLink, TextLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { StateLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { CancelAllDialog } from './cancel-all-dialog.tsx'
import { typeText } from './connection-labels.ts'

type Open = NonNullable<ReplyFor<'readLane'>['open']>

/** The message that is being sent, and the next ones in order. */
export function LaneSection({
  connection,
  isFrozen,
}: {
  readonly connection: ConnectionView
  /** True: the list is frozen and does not reload. */
  readonly isFrozen: boolean
}) {
  const { id: account, can } = useAccount()
  const [asked, setAsked] = useState<WaitingMessage | null>(null)
  const [dialog, setDialog] = useState<'one' | 'all' | null>(null)
  const source = useApiPages(
    'readLane',
    (after) => ({ params: { account, id: connection.id }, query: after === undefined ? {} : { after } }),
    { enabled: !isFrozen },
  )
  const open = source.pages[0]?.open ?? null
  const mayCancel = can('developer')
  const ask = (message: WaitingMessage) => {
    setAsked(message)
    setDialog('one')
  }
  return (
    <Stack gap="sm" component="section" aria-labelledby="lane">
      <Group justify="space-between">
        <Title order={2} id="lane">
          Lane
        </Title>
        {mayCancel && source.rows.length > 0 ? (
          <Button variant="default" size="compact-md" onClick={() => setDialog('all')}>
            Cancel all that waits
          </Button>
        ) : null}
      </Group>
      <InFlight open={open} />
      <DataTable
        caption="Messages that wait, in the order of acceptance; one that waits for itself lets messages to others pass"
        columns={columnsOf(account, mayCancel ? ask : null)}
        source={source}
        keyOf={(row) => row.id}
        moreLabel="Load more"
        empty={
          <Paper withBorder p="sm">
            <Text size="sm" component="div">
              Nothing waits.{' '}
              {connection.pace.lastPublishedAt === null ? null : (
                <>
                  The last message was sent <TimeAgo at={connection.pace.lastPublishedAt} />.
                </>
              )}
            </Text>
          </Paper>
        }
      />
      {asked ? <CancelOneDialog message={asked} isOpen={dialog === 'one'} onClose={() => setDialog(null)} /> : null}
      <CancelAllDialog connection={connection} isOpen={dialog === 'all'} onClose={() => setDialog(null)} />
    </Stack>
  )
}

function InFlight({ open }: { readonly open: Open | null }) {
  const { id: account } = useAccount()
  if (open === null) return null
  return (
    <Paper withBorder p="sm" role="group" aria-label="Being handed over now">
      <Group gap="sm">
        <StateLabel state="SENDING" />
        <TextLink to="/a/$account/developer/logs/$id" params={{ account, id: open.id }} size="sm">
          <MaskedNumber number={open.to} />
        </TextLink>
        <Text size="sm" component="div">
          {typeText(open.type)}, attempt {open.attempt}, since <TimeAgo at={open.since} />
        </Text>
        {open.evidenceUntil === null ? null : (
          <Text size="sm" component="div">
            The connection broke; Nuncio waits for a report until <TimeAgo at={open.evidenceUntil} />
          </Text>
        )}
      </Group>
    </Paper>
  )
}

function columnsOf(
  account: string,
  ask: ((message: WaitingMessage) => void) | null,
): readonly Column<WaitingMessage>[] {
  return [
    {
      key: 'position',
      header: 'Position',
      align: 'right',
      width: 90,
      card: 'line',
      cell: (row) => (
        <Text span inherit style={{ fontVariantNumeric: 'tabular-nums' }}>
          {row.position.toLocaleString('en')}
        </Text>
      ),
    },
    {
      key: 'to',
      header: 'To',
      card: 'head',
      cell: (row) => (
        <RowLink to="/a/$account/developer/logs/$id" params={{ account, id: row.id }}>
          <MaskedNumber number={row.to} />
        </RowLink>
      ),
    },
    { key: 'type', header: 'Type', hideBelow: 1200, cell: (row) => typeText(row.type) },
    { key: 'accepted', header: 'Accepted', hideBelow: 1200, cell: (row) => <TimeAgo at={row.acceptedAt} isQuiet /> },
    {
      key: 'turn',
      header: 'Estimated',
      cell: (row) => (row.estimatedAt === null ? 'Unknown' : <TimeAgo at={row.estimatedAt} isQuiet />),
    },
    { key: 'expires', header: 'Expires', cell: (row) => <TimeAgo at={row.expiresAt} isQuiet /> },
    { key: 'attempts', header: 'Attempts', align: 'right', hideBelow: 1200, cell: (row) => String(row.attempts) },
    ...(ask === null
      ? []
      : [
          {
            key: 'cancel',
            header: 'Cancel',
            width: 100,
            card: 'aside' as const,
            cell: (row: WaitingMessage) => (
              <Button
                size="compact-sm"
                variant="default"
                aria-label={`Cancel the message at position ${row.position}`}
                onClick={() => ask(row)}
              >
                Cancel
              </Button>
            ),
          },
        ]),
  ]
}

function CancelOneDialog({
  message,
  isOpen,
  onClose,
}: {
  readonly message: WaitingMessage
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const { id: account } = useAccount()
  const cancel = useApiMutation('cancelMessage')
  const confirm = async () => {
    showToast(cancelledText(await cancel.mutateAsync({ params: { account, id: message.id } })))
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Cancel the message to ${message.to}?`}
      confirmLabel="Cancel message"
      onConfirm={confirm}
    >
      <Text size="sm">
        It is taken out of the lane and not sent{message.attempts > 0 ? ' again' : ''}; those behind it move up.{' '}
        {message.attempts > 0
          ? 'If an earlier attempt may have arrived, it becomes unconfirmed. Else you can retry it from the API logs.'
          : 'You can retry it from the API logs.'}
      </Text>
    </ConfirmDialog>
  )
}
