import { useMatchRoute } from '@tanstack/react-router'
import { Ellipsis } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { Role } from '../../src/contract/console/route.ts'
import { lazily } from '../components/load-later.ts'
import { Places, TABS } from './navigation.tsx'
import classes from './shell.module.css'

const MoreDrawer = lazily(async () => (await import('./more-drawer.tsx')).MoreDrawer)

/** On narrow screens, in place of the navigation at the side. */
export function TabBar({ account, role }: { readonly account: string; readonly role: Role }) {
  const [isOpen, setOpen] = useState(false)
  const isElsewhere = useIsElsewhere(account)
  return (
    <>
      <nav aria-label="Main pages" className={classes['tabs'] ?? ''}>
        <Places account={account} places={TABS} iconPx={20} />
        <button
          type="button"
          className={classes['place'] ?? ''}
          aria-haspopup="dialog"
          aria-expanded={isOpen}
          {...(isElsewhere ? { 'aria-current': true } : {})}
          onClick={() => setOpen(true)}
        >
          <Ellipsis size={20} aria-hidden />
          More
        </button>
      </nav>
      {isOpen ? (
        <Suspense>
          <MoreDrawer account={account} role={role} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  )
}

/** Whether the open page is one of the account that has no tab. */
function useIsElsewhere(account: string): boolean {
  const matches = useMatchRoute()
  const isIn = (to: string, isExact: boolean) =>
    matches({ to: to as '/a/$account', params: { account }, fuzzy: !isExact }) !== false
  return isIn('/a/$account', false) && !TABS.some(({ to, isExact = false }) => isIn(to, isExact))
}
