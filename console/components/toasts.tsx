import { Suspense, useSyncExternalStore } from 'react'
import { lazily } from './load-later.ts'
import { toastList } from './toast.ts'

const ToastList = lazily(async () => (await import('./toast-list.tsx')).ToastList)

/** Shows the toasts. The code of the list is loaded with the first toast. */
export function Toasts() {
  const isNeeded = useSyncExternalStore(toastList.subscribe, toastList.isNeeded)
  return isNeeded ? (
    <Suspense>
      <ToastList />
    </Suspense>
  ) : null
}
