import { VisuallyHidden } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

// By then the page has set its title.
const TITLE_IS_SET_AFTER_MS = 300

/** Announces a new page to screen readers, because following a link loads no new document. */
export function RouteAnnouncer() {
  const { pathname } = useLocation()
  const [words, setText] = useState('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new page is announced
  useEffect(() => {
    const timer = setTimeout(() => setText(document.title), TITLE_IS_SET_AFTER_MS)
    return () => clearTimeout(timer)
  }, [pathname])
  return <VisuallyHidden role="status">{words}</VisuallyHidden>
}
