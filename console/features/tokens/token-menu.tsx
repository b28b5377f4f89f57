import { ActionIcon } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, KeyRound, ListFilter, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { TokenRowReply } from '../../../src/contract/console/tokens.ts'
import { useAccount } from '../../components/account.tsx'
import { MenuButton } from '../../components/menu-button.tsx'
import { rowActions, type TokenAction } from './token-labels.ts'

const ICONS: Readonly<Record<TokenAction, ReactNode>> = {
  details: <KeyRound size={16} aria-hidden />,
  requests: <ListFilter size={16} aria-hidden />,
  rename: <Pencil size={16} aria-hidden />,
  replace: <RefreshCw size={16} aria-hidden />,
  delete: <Trash2 size={16} aria-hidden />,
}

/** What can be done with a token of the list. Its page asks what must be asked. */
export function TokenMenu({ token }: { readonly token: TokenRowReply }) {
  const { id: account, can } = useAccount()
  const navigate = useNavigate()
  const act = (action: TokenAction) =>
    action === 'requests'
      ? navigate({ to: '/a/$account/developer/logs', params: { account }, search: { token: token.id } as never })
      : navigate({
          to: '/a/$account/developer/tokens/$id',
          params: { account, id: token.id },
          search: (action === 'details' ? {} : { ask: action }) as never,
        })
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
        onClick: () => void act(action),
      }))}
    />
  )
}
