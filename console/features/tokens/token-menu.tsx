import { ActionIcon } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, KeyRound, ListFilter, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { useAccount } from '../../components/account.tsx'
import { MenuButton } from '../../components/menu-button.tsx'
import { rowActions, type TokenAction, type TokenChange } from './token-labels.ts'

const ICONS: Readonly<Record<TokenAction, ReactNode>> = {
  details: <KeyRound size={16} aria-hidden />,
  requests: <ListFilter size={16} aria-hidden />,
  rename: <Pencil size={16} aria-hidden />,
  replace: <RefreshCw size={16} aria-hidden />,
  delete: <Trash2 size={16} aria-hidden />,
}

interface TokenMenuProps {
  readonly token: TokenRowReply
  readonly onChange: (change: TokenChange) => void
}

/** What can be done with a token of the list. */
export function TokenMenu({ token, onChange }: TokenMenuProps) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const act = (action: TokenAction) => {
    if (action === 'details')
      void navigate({ to: '/a/$account/developer/tokens/$id', params: { account, id: token.id } })
    else if (action === 'requests')
      void navigate({ to: '/a/$account/developer/logs', params: { account }, search: { token: token.id } as never })
    else onChange(action)
  }
  return (
    <MenuButton
      button={
        <ActionIcon variant="subtle" color="gray" size={26} aria-label={`Actions for the token ${token.name}`}>
          <Ellipsis size={16} aria-hidden />
        </ActionIcon>
      }
      entries={rowActions(token, can('developer')).map(({ action, label }) => ({
        label,
        icon: ICONS[action],
        isApart: action === 'delete',
        onClick: () => act(action),
      }))}
    />
  )
}
