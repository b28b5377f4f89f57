import { Button, Text, TextInput } from '@mantine/core'
import { Ban } from 'lucide-react'
import { useState } from 'react'
import type { BlockView } from '../../../src/contract/console/recipients.ts'
import { nameActor } from '../../../src/format/name-actor.ts'
import { useApiMutation, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { showToast } from '../../components/toast.ts'
import { BlockDialog } from './block-dialog.tsx'

const ERASED = 'an erased recipient'

/** Blocked recipients, who asked for no more messages. */
export function Recipients() {
  const { id: account, can } = useAccount()
  const [find, setFind] = useState('')
  const [isBlocking, setBlocking] = useState(false)
  const [freed, setFreed] = useState<BlockView | null>(null)
  const [isFreeing, setFreeing] = useState(false)
  const unblock = useApiMutation('unblockRecipient')
  const digits = find.replaceAll(/\D/g, '').slice(0, 15)
  const blocks = useApiPages('listBlocks', (after) => ({
    params: { account },
    query: { ...(digits === '' ? {} : { find: digits }), ...(after === undefined ? {} : { after }) },
  }))
  const name = freed?.number ?? ERASED
  const free = async () => {
    await unblock.mutateAsync({ params: { account }, body: { entry: freed?.entry ?? '' } })
    showToast(`Unblocked ${name}. Messages to it will be sent again.`)
  }
  // Kept while the dialog closes, because it is still rendered.
  const askToFree = (chosen: BlockView) => {
    setFreed(chosen)
    setFreeing(true)
  }
  return (
    <Page
      title="Recipients"
      about="The block list: people who asked for no more messages. Messages to these numbers are accepted, but fail without being sent. It takes effect within one second."
      actions={
        can('developer') ? (
          <Button leftSection={<Ban size={16} aria-hidden />} onClick={() => setBlocking(true)}>
            Block a recipient
          </Button>
        ) : null
      }
    >
      <TextInput
        label="Find a number"
        description="The digits it begins with."
        inputMode="tel"
        autoComplete="off"
        maw={320}
        value={find}
        onChange={(event) => setFind(event.currentTarget.value)}
      />
      <DataTable
        caption="Blocked recipients"
        columns={columnsOf(can('developer') ? askToFree : null)}
        source={blocks}
        keyOf={({ entry }) => entry}
        empty={
          digits === '' ? (
            <NothingBlocked />
          ) : (
            <EmptyState
              kind="no-match"
              text="No blocked number begins with these digits."
              onClear={() => setFind('')}
            />
          )
        }
      />
      <BlockDialog isOpen={isBlocking} onClose={() => setBlocking(false)} />
      <ConfirmDialog
        isOpen={isFreeing}
        onClose={() => setFreeing(false)}
        title={`Write to ${name} again?`}
        confirmLabel="Unblock"
        onConfirm={free}
      >
        <Text size="sm">New messages to it will be sent. Messages that failed while it was blocked stay failed.</Text>
      </ConfirmDialog>
    </Page>
  )
}

function NothingBlocked() {
  return (
    <EmptyState
      kind="nothing-yet"
      title="No number is blocked"
      text={
        <>
          Block people who ask to stop. The person who runs Nuncio can also{' '}
          <DocsLink page="guides/recipients">export or erase everything about one number</DocsLink>.
        </>
      }
    />
  )
}

function columnsOf(free: ((block: BlockView) => void) | null): readonly Column<BlockView>[] {
  const columns: readonly Column<BlockView>[] = [
    { key: 'number', header: 'Number', cell: ({ number }) => number ?? <Text size="sm">erased</Text> },
    { key: 'reason', header: 'Why', wraps: true, card: 'text', cell: ({ reason }) => reason },
    { key: 'by', header: 'Blocked by', cell: ({ blockedBy }) => nameActor(blockedBy) },
    { key: 'since', header: 'Since', cell: ({ since }) => <TimeAgo at={since} /> },
  ]
  if (free === null) return columns
  const unblock: Column<BlockView> = {
    key: 'unblock',
    header: 'Unblock',
    card: 'aside',
    align: 'right',
    cell: (block) => (
      <Button
        variant="subtle"
        size="compact-sm"
        aria-label={`Unblock ${block.number ?? ERASED}`}
        onClick={() => free(block)}
      >
        Unblock
      </Button>
    ),
  }
  return [...columns, unblock]
}
