import { ActionIcon, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, Eraser, ListX, Settings } from 'lucide-react'
import { useState } from 'react'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { MenuButton } from '../../components/menu-button.tsx'
import { showToast } from '../../components/toast.ts'
import { clearedText } from './sandbox-labels.ts'
import { usePlace } from './use-place.ts'

interface InboxMenuProps {
  readonly connection: string
  /** Its number and name. */
  readonly label: string
}

/** What is rarely wanted of an inbox. */
export function InboxMenu({ connection, label }: InboxMenuProps) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const [, go] = usePlace()
  const [isClearing, setClearing] = useState(false)
  const clear = useApiMutation('clearInbox')
  return (
    <>
      <MenuButton
        button={
          <ActionIcon variant="subtle" color="gray" size={32} aria-label="More for this inbox">
            <Ellipsis size={18} aria-hidden />
          </ActionIcon>
        }
        entries={[
          {
            label: 'Recipients that fail on request',
            icon: <ListX size={16} aria-hidden />,
            onClick: () => document.getElementById('failure-commands')?.scrollIntoView(),
          },
          {
            label: 'Settings of this connection',
            icon: <Settings size={16} aria-hidden />,
            onClick: () =>
              void navigate({
                to: '/a/$account/connections/$id',
                params: { account, id: connection },
                search: { tab: 'settings' } as never,
              }),
          },
          {
            label: 'Clear inbox…',
            icon: <Eraser size={16} aria-hidden />,
            isApart: true,
            onClick: () => setClearing(true),
          },
        ]}
      />
      <ConfirmDialog
        isOpen={isClearing}
        onClose={() => setClearing(false)}
        title={`Clear the inbox of ${label}?`}
        confirmLabel="Clear inbox"
        onConfirm={async () => {
          const { count } = await clear.mutateAsync({ params: { account, connection } })
          go({ to: undefined, at: undefined })
          showToast(clearedText(count))
        }}
      >
        <Text size="sm">
          Its deliveries and their files on this machine are deleted. The messages stay in the API log. What is still
          being sent or unconfirmed stays here, too, because it shows whether it was delivered.
        </Text>
      </ConfirmDialog>
    </>
  )
}
