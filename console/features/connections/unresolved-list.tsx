import { Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { UnresolvedMessage } from '../../../src/contract/console/connections.ts'
import { useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { RowLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { typeText } from '../../components/message-preview.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'

type Answer = 'arrived' | 'send-again'

interface Asked {
  readonly message: UnresolvedMessage
  readonly as: Answer
}

/** Unresolved UNCONFIRMED messages of one connection, or of all. */
export function UnresolvedList({
  connection,
  isFrozen = false,
}: {
  readonly connection?: string
  /** True: the list is frozen and does not reload. */
  readonly isFrozen?: boolean
}) {
  const { id: account, can } = useAccount()
  const [asked, setAsked] = useState<Asked | null>(null)
  const [isOpen, setOpen] = useState(false)
  const source = useApiPages(
    'listUnresolved',
    (after) => ({
      params: { account },
      query: { ...(connection === undefined ? {} : { connection }), ...(after === undefined ? {} : { after }) },
    }),
    { enabled: !isFrozen },
  )
  const { rows, hasOlder, isLoadingOlder, loadOlder } = source
  // Messages of a rarely used connection may be far back, so pages load until one is found.
  useEffect(() => {
    if (rows.length === 0 && hasOlder && !isLoadingOlder) loadOlder()
  }, [rows.length, hasOlder, isLoadingOlder, loadOlder])
  const ask = (message: UnresolvedMessage, as: Answer) => {
    setAsked({ message, as })
    setOpen(true)
  }
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        It is not known whether these arrived: no clear answer came. The lane has moved on. Ask the recipient, then say
        what happened.
      </Text>
      <DataTable
        caption="Unconfirmed messages, newest first"
        columns={columnsOf({ account, isAlone: connection !== undefined, ask: can('developer') ? ask : null })}
        source={source}
        keyOf={(row) => row.id}
        empty={
          <EmptyState
            kind="nothing-yet"
            title="Nothing is unconfirmed"
            text="Of every message that was handed over it is known whether the network took it."
          />
        }
      />
      {asked ? <ResolveDialog asked={asked} isOpen={isOpen} onClose={() => setOpen(false)} /> : null}
    </Stack>
  )
}

interface Shown {
  readonly account: string
  readonly isAlone: boolean
  readonly ask: ((message: UnresolvedMessage, as: Answer) => void) | null
}

function columnsOf({ account, isAlone, ask }: Shown): readonly Column<UnresolvedMessage>[] {
  return [
    {
      key: 'to',
      header: 'To',
      cell: (row) => (
        <RowLink to="/a/$account/developer/logs/$id" params={{ account, id: row.id }}>
          <MaskedNumber number={row.to} />
        </RowLink>
      ),
    },
    ...(isAlone ? [] : [{ key: 'from', header: 'From', cell: (row: UnresolvedMessage) => row.connection }]),
    { key: 'type', header: 'Type', hideBelow: 1200, cell: (row) => typeText(row.type) },
    { key: 'accepted', header: 'Accepted', card: 'aside', cell: (row) => <TimeAgo at={row.acceptedAt} isQuiet /> },
    {
      key: 'why',
      header: 'Why',
      wraps: true,
      card: 'text',
      cell: (row) => (
        <Text size="sm" component="span">
          {row.sentence} {row.noResend}
        </Text>
      ),
    },
    ...(ask === null ? [] : [answers(ask)]),
  ]
}

function answers(ask: NonNullable<Shown['ask']>): Column<UnresolvedMessage> {
  const button = (row: UnresolvedMessage, answer: Answer, label: string) => (
    <Button
      size="compact-sm"
      variant="light"
      aria-label={`${label}: the message to ${row.to}`}
      onClick={() => ask(row, answer)}
    >
      {label}
    </Button>
  )
  return {
    key: 'answers',
    header: 'Decide',
    width: 230,
    card: 'text',
    cell: (row) => (
      <Group gap={6} wrap="nowrap">
        {button(row, 'arrived', 'It arrived')}
        {row.noResend === null ? button(row, 'send-again', 'Send again') : null}
      </Group>
    ),
  }
}

function ResolveDialog({
  asked: { message, as },
  isOpen,
  onClose,
}: {
  readonly asked: Asked
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const { id: account } = useAccount()
  const resolve = useApiMutation('resolveMessage')
  const isAgain = as === 'send-again'
  const confirm = async () => {
    await resolve.mutateAsync({ params: { account, id: message.id }, body: { as } })
    showToast(isAgain ? 'A new message waits at the end of the lane.' : 'Noted: it counts as sent, on your word.')
  }
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={isAgain ? `Send it to ${message.to} again?` : `Did it arrive at ${message.to}?`}
      confirmLabel={isAgain ? 'Send again' : 'It arrived'}
      isDanger={isAgain}
      onConfirm={confirm}
    >
      <Text size="sm">
        {isAgain
          ? 'If the first one did arrive after all, the recipient gets the message twice. A new message goes to the end of the lane and points to this one.'
          : 'The message becomes Published, with a note that you said so. Nothing is sent.'}
      </Text>
    </ConfirmDialog>
  )
}
