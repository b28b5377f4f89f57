import { ActionIcon, Menu } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Copy, Ellipsis, ListFilter } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { LogRow } from '../../../src/contract/console/log.ts'
import { useAccount } from '../../components/account.tsx'
import { copyText } from '../../components/copy-text.ts'
import { lazily } from '../../components/load-later.ts'
import { showToast } from '../../components/toast.ts'
import type { LogSearch } from './log-search.ts'

// Its form brings a library that the list does not need.
const BlockDialog = lazily(async () => (await import('../recipients/block-dialog.tsx')).BlockDialog)

/** What can be done with one row without opening it. */
export function RowMenu({ row }: { readonly row: LogRow }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const [isBlocking, setBlocking] = useState(false)
  const only = (search: Partial<LogSearch>) =>
    void navigate({
      to: '/a/$account/developer/logs',
      params: { account },
      search: (before: object) => ({ ...before, ...search }) as never,
    })
  const { messageId, requestId, to, reason, token } = row
  const id = messageId ?? requestId
  const recipient = can('developer') && to !== null && /^\d{4,15}$/.test(to) ? to : null
  return (
    <>
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={26}
            aria-label={`Actions for the request to ${to ?? 'nobody'}`}
          >
            <Ellipsis size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {id === null ? null : (
            <Menu.Item leftSection={<Copy size={16} aria-hidden />} onClick={() => void copy(id)}>
              {messageId === null ? 'Copy request id' : 'Copy message id'}
            </Menu.Item>
          )}
          {recipient === null ? null : <Only words={`Only to ${recipient}`} onClick={() => only({ to: recipient })} />}
          {reason === null ? null : <Only words="Only this reason" onClick={() => only({ reason: reason.code })} />}
          {token === null ? null : (
            <Only words={`Only the token ${token.name}`} onClick={() => only({ token: token.id })} />
          )}
          {recipient === null ? null : (
            <>
              <Menu.Divider />
              <Menu.Item leftSection={<Ban size={16} aria-hidden />} onClick={() => setBlocking(true)}>
                Block {recipient}…
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {isBlocking && recipient !== null ? (
        <Suspense>
          <BlockDialog number={recipient} isOpen onClose={() => setBlocking(false)} />
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

function Only({ words, onClick }: { readonly words: string; readonly onClick: () => void }) {
  return (
    <Menu.Item leftSection={<ListFilter size={16} aria-hidden />} onClick={onClick}>
      {words}
    </Menu.Item>
  )
}
