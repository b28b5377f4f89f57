import { Menu, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CurrentSession } from '../../src/contract/console/session.ts'

export interface AccountChoice {
  readonly accounts: CurrentSession['accounts']
  readonly current: CurrentSession['accounts'][number] | undefined
}

/** Opens at once, because it is mounted when its button is pressed. */
export function AccountDropdown({ accounts, current, button }: AccountChoice & { readonly button: ReactNode }) {
  const navigate = useNavigate()
  return (
    <Menu position="bottom-start" width={240} defaultOpened>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        {accounts.map((account) => (
          <Menu.Item
            key={account.id}
            rightSection={account.id === current?.id ? <Check size={16} aria-label="this one" /> : null}
            onClick={() => void navigate({ to: '/a/$account', params: { account: account.id } })}
          >
            {account.name}
            <Text size="xs" c="dimmed">
              {account.role}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
