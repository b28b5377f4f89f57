import { notifications } from '@mantine/notifications'

const SHOWN_FOR_MS = 6_000

/** A short message that disappears by itself: "Token deleted". Texts that must be read belong on the page. */
export function showToast(words: string, tone: 'good' | 'bad' = 'good'): void {
  notifications.show({
    message: words,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: SHOWN_FOR_MS,
    closeButtonProps: { 'aria-label': 'Close' },
  })
}

/** The same for a failure. */
export function showErrorToast(error: unknown): void {
  showToast(error instanceof Error ? error.message : String(error), 'bad')
}
