import { notifications } from '@mantine/notifications'

const SHOWN_FOR_MS = { good: 6_000, bad: 12_000 }

/**
 * Shows a toast that closes by itself: later if it says what failed, and not while a person points at it or has its button in
 * focus. A pointer that only rests where it appears does not keep it, or it would cover what is there for good.
 */
export function showPassingToast(message: string, tone: keyof typeof SHOWN_FOR_MS): void {
  let closing: ReturnType<typeof setTimeout> | undefined
  const keep = () => clearTimeout(closing)
  const close = () => {
    keep()
    closing = setTimeout(() => notifications.hide(id), SHOWN_FOR_MS[tone])
  }
  const id = notifications.show({
    message,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: false,
    closeButtonProps: { 'aria-label': 'Close' },
    onMouseMove: ({ movementX, movementY }) => {
      if (movementX !== 0 || movementY !== 0) keep()
    },
    onMouseLeave: close,
    onFocus: keep,
    onBlur: close,
  })
  close()
}
