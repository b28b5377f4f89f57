import { loadLater } from './load-later.ts'
import type { showPassingToast } from './passing-toast.ts'

const listeners = new Set<() => void>()
/** Loaded once: the toasts after the first must not ask the service again, because they may say that it does not answer. */
let library: Promise<{ readonly showPassingToast: typeof showPassingToast }> | null = null

/** Whether there was a toast, for `useSyncExternalStore`: only then the list is loaded. */
export const toastList = {
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  isNeeded: () => library !== null,
}

/** A short message that disappears by itself: "Token deleted". Texts that must be read belong on the page. */
export function showToast(message: string, tone: 'good' | 'bad' = 'good'): void {
  library ??= loadLater(() => import('./passing-toast.ts'))
  for (const listener of listeners) listener()
  // The library keeps what is shown before its list is on the page.
  void library.then((loaded) => loaded.showPassingToast(message, tone))
}

/** The same for a failure. */
export function showErrorToast(error: unknown): void {
  showToast(error instanceof Error ? error.message : String(error), 'bad')
}
