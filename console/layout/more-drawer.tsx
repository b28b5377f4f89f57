import { Drawer } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Role } from '../../src/contract/console/route.ts'
import { Navigation } from './navigation.tsx'
import classes from './shell.module.css'

interface MoreDrawerProps {
  readonly account: string
  readonly role: Role
  readonly onClose: () => void
}

/** All pages, from below. A followed link closes it. */
export function MoreDrawer({ account, role, onClose }: MoreDrawerProps) {
  const { pathname } = useLocation()
  const openedAt = useRef(pathname)
  useEffect(() => {
    if (pathname !== openedAt.current) onClose()
  }, [pathname, onClose])
  return (
    <Drawer
      opened
      onClose={onClose}
      title="All pages"
      position="bottom"
      size="85%"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <nav aria-label="All pages" className={classes['all'] ?? ''}>
        <Navigation account={account} role={role} />
      </nav>
    </Drawer>
  )
}
