import { ActionIcon, Menu } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Ellipsis, Inbox, ListFilter } from 'lucide-react'
import { useState } from 'react'
import type { LogDetail } from '../../../src/contract/console/log.ts'
import { useAccount } from '../../components/account.tsx'
import { maskNumber } from '../../components/masked-number.tsx'
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
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={32} aria-label="More actions">
            <Ellipsis size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {channel === 'sandbox' ? (
            <Menu.Item
              leftSection={<Inbox size={16} aria-hidden />}
              onClick={() =>
                void navigate({
                  to: '/a/$account/sandbox',
                  params: { account },
                  search: { connection, to } as never,
                })
              }
            >
              Open in the sandbox inbox
            </Menu.Item>
          ) : null}
          <Menu.Item
            leftSection={<ListFilter size={16} aria-hidden />}
            onClick={() =>
              void navigate({ to: '/a/$account/developer/logs', params: { account }, search: { to } as never })
            }
          >
            All to {shown}
          </Menu.Item>
          {message.actions.includes('unblock') ? null : (
            <>
              <Menu.Divider />
              <Menu.Item leftSection={<Ban size={16} aria-hidden />} onClick={() => setBlocking(true)}>
                Block {shown}…
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <BlockDialog number={to} isOpen={isBlocking} onClose={() => setBlocking(false)} />
    </>
  )
}
