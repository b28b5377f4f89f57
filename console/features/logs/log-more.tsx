import { ActionIcon } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Ellipsis, Inbox, ListFilter } from 'lucide-react'
import { useState } from 'react'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { useAccount } from '../../components/account.tsx'
import { maskNumber } from '../../components/masked-number.tsx'
import { MenuButton } from '../../components/menu-button.tsx'
import type { MenuEntry } from '../../components/menu-list.tsx'
import { useHiddenNumbers } from '../../components/stored-setting.ts'
import { BlockDialog } from '../recipients/block-dialog.tsx'

/** What is rarely wanted on the page of a message. Blocking its recipient is last. */
export function LogMore({ detail }: { readonly detail: LogDetail }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const [isBlocking, setBlocking] = useState(false)
  const [isHidden] = useHiddenNumbers()
  const { message } = detail
  const { to } = detail.entry
  // Viewers see it masked, and a caller may have written something else.
  if (message === null || to === null || !/^\d+$/.test(to) || !can('developer')) return null
  const { channel, id: connection } = message.connection
  const shown = isHidden ? maskNumber(to) : to
  const inbox: MenuEntry = {
    label: 'Open in the sandbox inbox',
    icon: <Inbox size={16} aria-hidden />,
    onClick: () =>
      void navigate({ to: '/a/$account/sandbox', params: { account }, search: { connection, to } as never }),
  }
  const others: MenuEntry = {
    label: `All to ${shown}`,
    icon: <ListFilter size={16} aria-hidden />,
    onClick: () => void navigate({ to: '/a/$account/developer/logs', params: { account }, search: { to } as never }),
  }
  const block: MenuEntry = {
    label: `Block ${shown}…`,
    icon: <Ban size={16} aria-hidden />,
    isApart: true,
    onClick: () => setBlocking(true),
  }
  return (
    <>
      <MenuButton
        button={
          <ActionIcon variant="subtle" color="gray" size={32} aria-label="More actions">
            <Ellipsis size={18} aria-hidden />
          </ActionIcon>
        }
        entries={[
          ...(channel === 'sandbox' ? [inbox] : []),
          others,
          ...(message.actions.includes('unblock') ? [] : [block]),
        ]}
      />
      <BlockDialog number={to} isOpen={isBlocking} onClose={() => setBlocking(false)} />
    </>
  )
}
