import { cloneElement, type ReactElement, type Ref, Suspense, useState } from 'react'
import { lazily } from './load-later.ts'
import type { MenuEntry } from './menu-list.tsx'

// The code that positions a menu is a tenth of a page's script, and most visits open none.
const MenuList = lazily(async () => (await import('./menu-list.tsx')).MenuList)

type Target = ReactElement<{
  onClick?: () => void
  'aria-haspopup'?: 'menu'
  loading?: boolean
  ref?: Ref<HTMLButtonElement>
}>

interface MenuButtonProps {
  readonly button: Target
  readonly entries: readonly MenuEntry[]
}

/** A button with a menu, whose code is loaded when it is first opened. */
export function MenuButton({ button, entries }: MenuButtonProps) {
  const [isWanted, setWanted] = useState(false)
  const closed = cloneElement(button, { onClick: () => setWanted(true), 'aria-haspopup': 'menu' })
  if (!isWanted) return closed
  return (
    <Suspense fallback={closed}>
      <MenuList button={button} entries={entries} />
    </Suspense>
  )
}
