import { notifications } from '@mantine/notifications'

const SHOWN_FOR_MS = 6_000

/** A line at the edge of the page that goes by itself: "Token deleted". Not for what must be read: that stays on the page. */
export function showToast(words: string, tone: 'good' | 'bad' = 'good'): void {
  notifications.show({
    message: words,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: SHOWN_FOR_MS,
    closeButtonProps: { 'aria-label': 'Close' },
  })
}

/** The same of what went wrong. */
export function showErrorToast(error: unknown): void {
  showToast(error instanceof Error ? error.message : String(error), 'bad')
}
