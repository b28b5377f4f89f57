import { ActionIcon, Button, Group, Paper, SegmentedControl, Stack, Text, VisuallyHidden } from '@mantine/core'
import { CornerDownRight, Hourglass, X } from 'lucide-react'
import { useState } from 'react'
import type { ConnectionView } from '../../../src/contract/console/connections.ts'
import type { WaitingMessage } from '../../../src/contract/console/lane-page.ts'
import type { ReplyFor } from '../../api/call.ts'
import { useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { cancelledText } from '../../components/cancelled-text.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { RowLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { MessagePreview } from '../../components/message-preview.tsx'
import { displayOf } from '../../components/state-display.ts'
import { GroupLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { useNow } from '../../components/use-now.ts'
import { waitText } from '../../components/wait-text.ts'
import { CancelAllDialog } from './cancel-all-dialog.tsx'
import classes from './connection.module.css'
import { deferredText } from './connection-labels.ts'

type LanePage = ReplyFor<'readLane'>
type Open = NonNullable<LanePage['open']>
type Row = { readonly group: string } & ({ readonly open: Open } | { readonly message: WaitingMessage })

const BEING_SENT = 'Being sent'
const NEXT = 'Next'

/** The message that is being sent, the deferred ones with those behind them, and the next ones in order. */
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
  const [isAll, setAll] = useState(true)
  const source = useApiPages(
    'readLane',
    (after) => ({ params: { account, id: connection.id }, query: after === undefined ? {} : { after } }),
    { enabled: !isFrozen },
  )
  const [first] = source.pages
  const isOnlyDeferred = !isAll && first !== undefined && first.deferred.count > 0
  const rows = rowsOfLane(first, isOnlyDeferred ? [] : source.rows)
  const mayCancel = can('developer')
  const ask = (message: WaitingMessage) => {
    setAsked(message)
    setDialog('one')
  }
  return (
    <Stack gap="sm" component="section" aria-label="Lane">
      {rows.length > 0 ? (
        <Group justify="space-between" gap="xs">
          <Shown deferred={first?.deferred} isAll={!isOnlyDeferred} onAll={setAll} />
          {mayCancel && rows.some((row) => 'message' in row) ? (
            <Button variant="default" size="compact-sm" onClick={() => setDialog('all')}>
              Cancel all that waits
            </Button>
          ) : null}
        </Group>
      ) : null}
      <DataTable
        caption="Messages that wait on this number"
        columns={columnsOf(account, mayCancel ? ask : null)}
        source={{ ...source, rows, hasOlder: source.hasOlder && !isOnlyDeferred }}
        keyOf={(row) => idOf(row)}
        groupOf={({ group }) => group}
        groupNote={(group) => NOTES[group.split(':')[0] ?? '']}
        moreLabel="Load more"
        isFixed
        empty={<NothingWaits connection={connection} />}
      />
      {asked ? <CancelOneDialog message={asked} isOpen={dialog === 'one'} onClose={() => setDialog(null)} /> : null}
      <CancelAllDialog connection={connection} isOpen={dialog === 'all'} onClose={() => setDialog(null)} />
    </Stack>
  )
}

const NOTES: Readonly<Record<string, string>> = {
  Deferred: 'Each waits for something of its own, with later ones to the same recipient. Others go past them.',
  [NEXT]: 'The earliest that may go goes first.',
}

function rowsOfLane(first: LanePage | undefined, next: readonly WaitingMessage[]): readonly Row[] {
  if (!first) return []
  const { open, deferred } = first
  return [
    ...(open ? [{ group: BEING_SENT, open }] : []),
    ...deferred.items.map((message) => ({ group: deferredText(deferred), message })),
    ...next.map((message) => ({ group: NEXT, message })),
  ]
}

function idOf(row: Row): string {
  return 'open' in row ? row.open.id : row.message.id
}

interface ShownProps {
  readonly deferred: LanePage['deferred'] | undefined
  readonly isAll: boolean
  readonly onAll: (isAll: boolean) => void
}

/** All of the lane, or only what is deferred; no choice where nothing is. */
function Shown({ deferred, isAll, onAll }: ShownProps) {
  if (!deferred || deferred.count === 0)
    return (
      <Text size="sm" c="dimmed">
        One at a time, to each recipient in the order of acceptance.
      </Text>
    )
  return (
    <SegmentedControl
      aria-label="Which messages"
      size="xs"
      value={isAll ? 'all' : 'deferred'}
      onChange={(value) => onAll(value === 'all')}
      data={[
        { value: 'all', label: 'All' },
        { value: 'deferred', label: 'Deferred' },
      ]}
    />
  )
}

function NothingWaits({ connection: { pace } }: { readonly connection: ConnectionView }) {
  return (
    <Paper withBorder p="sm">
      <Text size="sm" component="div">
        Nothing waits.{' '}
        {pace.lastPublishedAt === null ? null : (
          <>
            The last message was sent <TimeAgo at={pace.lastPublishedAt} />.
          </>
        )}
      </Text>
    </Paper>
  )
}

function columnsOf(account: string, ask: ((message: WaitingMessage) => void) | null): readonly Column<Row>[] {
  return [
    {
      key: 'position',
      header: 'Place',
      align: 'right',
      width: 64,
      card: 'hidden',
      cell: (row) => ('open' in row ? null : row.message.position.toLocaleString('en')),
    },
    {
      key: 'to',
      header: 'To',
      width: 150,
      card: 'head',
      cell: (row) => {
        const { id, to } = 'open' in row ? row.open : row.message
        const isBehind = 'message' in row && row.message.behind !== null
        return (
          <span className={isBehind ? classes['behind'] : undefined}>
            <RowLink to="/a/$account/developer/logs/$id" params={{ account, id }}>
              <MaskedNumber number={to} />
            </RowLink>
          </span>
        )
      },
    },
    {
      key: 'message',
      header: 'Message',
      width: '30%',
      hideBelow: 1200,
      card: 'text',
      cell: (row) => <MessagePreview {...('open' in row ? row.open : row.message)} />,
    },
    {
      key: 'accepted',
      header: 'Accepted',
      width: 120,
      hideBelow: 1200,
      card: 'hidden',
      cell: (row) => <TimeAgo at={('open' in row ? row.open : row.message).acceptedAt} isQuiet isClock />,
    },
    {
      key: 'when',
      header: 'When',
      card: 'text',
      wraps: true,
      cell: (row) => ('open' in row ? <OpenSince open={row.open} /> : <When message={row.message} />),
    },
    ...(ask === null
      ? []
      : [
          {
            key: 'cancel',
            header: <VisuallyHidden>Cancel</VisuallyHidden>,
            width: 56,
            card: 'aside' as const,
            cell: (row: Row) => ('open' in row ? null : <CancelButton message={row.message} onAsk={ask} />),
          },
        ]),
  ]
}

function OpenSince({ open: { attempt, since, evidenceUntil } }: { readonly open: Open }) {
  const { group, icon } = displayOf('SENDING', { code: evidenceUntil === null ? null : 'awaiting_evidence' })
  return (
    <GroupLabel group={group} icon={icon} isPlain>
      {evidenceUntil === null ? (
        <>
          Attempt {attempt}, since <TimeAgo at={since} isQuiet />
        </>
      ) : (
        <>
          No clear answer; Nuncio waits for a report until <TimeAgo at={evidenceUntil} isQuiet />
        </>
      )}
    </GroupLabel>
  )
}

function When({ message }: { readonly message: WaitingMessage }) {
  const { wait, behind, estimatedAt } = message
  const text = waitText(message, useNow())
  if (text !== null)
    return (
      <GroupLabel group="moving" icon={behind === null ? Hourglass : CornerDownRight} isPlain>
        <span title={wait?.sentence}>{text}</span>
      </GroupLabel>
    )
  return (
    <Text span size="sm" c="dimmed">
      {estimatedAt === null ? (
        'Not known'
      ) : (
        <>
          about <TimeAgo at={estimatedAt} isQuiet isClock="estimate" />
        </>
      )}
    </Text>
  )
}

interface CancelButtonProps {
  readonly message: WaitingMessage
  readonly onAsk: (message: WaitingMessage) => void
}

function CancelButton({ message, onAsk }: CancelButtonProps) {
  const label = `Cancel the message at place ${message.position}`
  return (
    <ActionIcon variant="subtle" color="gray" size={26} aria-label={label} title={label} onClick={() => onAsk(message)}>
      <X size={16} aria-hidden />
    </ActionIcon>
  )
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
