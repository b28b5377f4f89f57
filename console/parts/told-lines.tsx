import '@mantine/notifications/styles.css'
import { Notifications, notifications } from '@mantine/notifications'
import { useEffect } from 'react'
import type { Line } from './tell.ts'

const SHOWN_FOR_MS = 6_000

/** Shows the lines that were told, each once. */
export function ToldLines({ lines, onShown }: { readonly lines: readonly Line[]; readonly onShown: () => void }) {
  useEffect(() => {
    if (lines.length === 0) return
    for (const { words, tone } of lines) {
      notifications.show({
        message: words,
        color: tone === 'good' ? 'green' : 'red',
        autoClose: SHOWN_FOR_MS,
        closeButtonProps: { 'aria-label': 'Close' },
      })
    }
    onShown()
  }, [lines, onShown])
  return <Notifications position="bottom-right" />
}
