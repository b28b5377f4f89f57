import { Menu } from '@mantine/core'
import { cloneElement, Fragment, type ReactElement, type ReactNode, type Ref, useRef } from 'react'

export interface MenuEntry {
  readonly label: string
  readonly icon?: ReactNode
  /** True: a line above it. */
  readonly isApart?: boolean
  readonly onClick: () => void
}

interface MenuListProps {
  readonly button: ReactElement<{ ref?: Ref<HTMLButtonElement> }>
  readonly entries: readonly MenuEntry[]
}

/** Open from the start: its button was pressed before this was loaded. */
export function MenuList({ button, entries }: MenuListProps) {
  const target = useRef<HTMLButtonElement>(null)
  const act = (entry: MenuEntry) => {
    // A dialog gives the focus back to what had it before, and the entry will be gone.
    target.current?.focus()
    entry.onClick()
  }
  return (
    <Menu position="bottom-end" defaultOpened>
      <Menu.Target>{cloneElement(button, { ref: target })}</Menu.Target>
      <Menu.Dropdown maw="calc(100vw - 32px)">
        {entries.map((entry) => (
          <Fragment key={entry.label}>
            {entry.isApart ? <Menu.Divider /> : null}
            <Menu.Item leftSection={entry.icon} onClick={() => act(entry)}>
              {entry.label}
            </Menu.Item>
          </Fragment>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
