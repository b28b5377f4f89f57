import { Menu, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Keyboard, LogOut, User } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CurrentSession } from '../../src/contract/console/session.ts'
import { useApiMutation } from '../api/queries.ts'
import { showErrorToast } from '../components/toast.ts'

export interface PersonMenuProps {
  readonly person: CurrentSession['person']
  readonly onHelp: () => void
}

/** Opens at once, because it is mounted when its button is pressed. */
export function PersonDropdown({ person, onHelp, button }: PersonMenuProps & { readonly button: ReactNode }) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const signOut = useApiMutation('signOut')
  const leave = async () => {
    try {
      await signOut.mutateAsync({})
    } catch (error) {
      showErrorToast(error)
      return
    }
    client.clear()
    await navigate({ to: '/sign-in' })
  }
  return (
    <Menu position="bottom-end" width={240} defaultOpened>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" c="var(--mantine-color-text)" fw={500}>
            {person.name}
          </Text>
          {person.email}
        </Menu.Label>
        <Menu.Item leftSection={<User size={16} aria-hidden />} onClick={() => void navigate({ to: '/me' })}>
          Your profile
        </Menu.Item>
        <Menu.Item leftSection={<Keyboard size={16} aria-hidden />} onClick={onHelp}>
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={16} aria-hidden />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
