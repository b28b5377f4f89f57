import { useNotifications } from '@mantine/notifications'
import { Suspense, useState } from 'react'
import { lazily } from './load-later.ts'

const ToastList = lazily(async () => (await import('./toast-list.tsx')).ToastList)

/** Shows the toasts. The code of the list is loaded with the first toast. */
export function Toasts() {
  const { notifications } = useNotifications()
  const [isNeeded, setIsNeeded] = useState(false)
  // The list stays, so that the last toast can fade out.
  if (!isNeeded && notifications.length > 0) setIsNeeded(true)
  return isNeeded ? (
    <Suspense>
      <ToastList />
    </Suspense>
  ) : null
}
