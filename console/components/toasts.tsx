import { useNotifications } from '@mantine/notifications'
import { Suspense, useState } from 'react'
import { lazily } from './load-later.ts'

const ToastList = lazily(async () => (await import('./toast-list.tsx')).ToastList)

/** Where `tell` shows its lines. The code of the list is loaded with the first of them. */
export function Toasts() {
  const { notifications } = useNotifications()
  const [isNeeded, setIsNeeded] = useState(false)
  // It stays, so that the last toast can fade away.
  if (!isNeeded && notifications.length > 0) setIsNeeded(true)
  return isNeeded ? (
    <Suspense>
      <ToastList />
    </Suspense>
  ) : null
}
