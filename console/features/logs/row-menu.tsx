import { ActionIcon } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Copy, Ellipsis, ListFilter } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { LogRow } from '../../../src/contract/console/log.ts'
import { useAccount } from '../../components/account.tsx'
import { copyText } from '../../components/copy-text.ts'
import { lazily } from '../../components/load-later.ts'
import { maskNumber } from '../../components/masked-number.tsx'
import { MenuButton } from '../../components/menu-button.tsx'
import type { MenuEntry } from '../../components/menu-list.tsx'
import { useHiddenNumbers } from '../../components/stored-setting.ts'
import { showToast } from '../../components/toast.ts'
import type { LogSearch } from './log-search.ts'

// Its form brings a library that the list does not need.
const BlockDialog = lazily(async () => (await import('../recipients/block-dialog.tsx')).BlockDialog)

/** What can be done with one row without opening it. */
export function RowMenu({ row }: { readonly row: LogRow }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  // Null: it was never asked for.
  const [isBlocking, setBlocking] = useState<boolean | null>(null)
  const only = (search: Partial<LogSearch>) =>
    void navigate({
      to: '/a/$account/developer/logs',
      params: { account },
      search: (before: object) => ({ ...before, ...search }),
    })
  const { messageId, requestId, to, reason, token } = row
  const id = messageId ?? requestId
  const [isHidden] = useHiddenNumbers()
  const shown = (number: string) => (isHidden ? maskNumber(number) : number)
  const recipient = can('developer') && to !== null && /^\d{4,15}$/.test(to) ? to : null
  const entries: readonly (MenuEntry | null)[] = [
    id === null
      ? null
      : {
          label: messageId === null ? 'Copy request id' : 'Copy message id',
          icon: <Copy size={16} aria-hidden />,
          onClick: () => void copy(id),
        },
    recipient === null ? null : filterEntry(`Only to ${shown(recipient)}`, () => only({ to: recipient })),
    reason === null ? null : filterEntry('Only this reason', () => only({ reason: reason.code })),
    token === null ? null : filterEntry(`Only the token ${token.name}`, () => only({ token: token.id })),
    recipient === null
      ? null
      : {
          label: `Block ${shown(recipient)}…`,
          icon: <Ban size={16} aria-hidden />,
          isApart: true,
          onClick: () => setBlocking(true),
        },
  ]
  return (
    <>
      <MenuButton
        button={
          <ActionIcon
            variant="subtle"
            color="gray"
            size={26}
            aria-label={`Actions for the request to ${to === null ? 'an unknown recipient' : shown(to)}`}
          >
            <Ellipsis size={16} aria-hidden />
          </ActionIcon>
        }
        entries={entries.filter((entry) => entry !== null)}
      />
      {isBlocking !== null && recipient !== null ? (
        <Suspense>
          <BlockDialog number={recipient} isOpen={isBlocking} onClose={() => setBlocking(false)} />
        </Suspense>
      ) : null}
    </>
  )
}

async function copy(id: string): Promise<void> {
  const isCopied = await copyText(id)
  showToast(
    isCopied ? `Copied ${id}.` : 'It could not be copied. Open the row and select the id there.',
    isCopied ? 'good' : 'bad',
  )
}

function filterEntry(label: string, onClick: () => void): MenuEntry {
  return { label, icon: <ListFilter size={16} aria-hidden />, onClick }
}
