import { VisuallyHidden } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

// By then the page has set its title.
const TITLE_IS_SET_AFTER_MS = 300

/** Nothing is loaded anew when a link is followed, so screen readers have to be told that the page is another one. */
export function RouteAnnouncer() {
  const { pathname } = useLocation()
  const [words, setText] = useState('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new page is told
  useEffect(() => {
    const timer = setTimeout(() => setText(document.title), TITLE_IS_SET_AFTER_MS)
    return () => clearTimeout(timer)
  }, [pathname])
  return <VisuallyHidden role="status">{words}</VisuallyHidden>
}
