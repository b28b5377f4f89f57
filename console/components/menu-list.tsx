import { Menu } from '@mantine/core'
import { Fragment, type ReactElement, type ReactNode } from 'react'

export interface MenuEntry {
  readonly label: string
  readonly icon?: ReactNode
  /** True: a line above it. */
  readonly isApart?: boolean
  readonly onClick: () => void
}

interface MenuListProps {
  readonly button: ReactElement
  readonly entries: readonly MenuEntry[]
}

/** Open from the start: its button was pressed before this was loaded. */
export function MenuList({ button, entries }: MenuListProps) {
  return (
    <Menu position="bottom-end" defaultOpened>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown maw="calc(100vw - 32px)">
        {entries.map(({ label, icon, isApart, onClick }) => (
          <Fragment key={label}>
            {isApart ? <Menu.Divider /> : null}
            <Menu.Item leftSection={icon} onClick={onClick}>
              {label}
            </Menu.Item>
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
