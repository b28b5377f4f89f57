import { Menu, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { AccountButton, type AccountSwitcherProps } from './account-switcher.tsx'

/** Opens at once, because it is mounted when its button is pressed. */
export function AccountDropdown({ accounts, current }: AccountSwitcherProps) {
  const navigate = useNavigate()
  return (
    <Menu position="bottom-start" width={240} defaultOpened>
      <Menu.Target>
        <AccountButton name={current?.name} />
      </Menu.Target>
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
