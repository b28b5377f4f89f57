import { type ComponentType, lazy } from 'react'

/** How long to wait before the service is asked again. */
export const RETRY_AFTER_MS = 2_000
/** The event of the window that says that code of an open page is missing. */
export const CODE_MISSING = 'nuncio:code-missing'

/** Whether the service answers with this page, so that it could be loaded again now. */
export async function serviceAnswers(): Promise<boolean> {
  try {
    return (await fetch(location.href, { cache: 'no-store' })).ok
  } catch {
    return false
  }
}

/** A component whose code is loaded when it is first shown. */
export function lazily<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadLater(load) }))
}

/**
 * Code that an open page needs later. It is not asked for while the service is away, because many browsers remember a
 * failed import until the page is loaded again. A file that an upgrade has replaced never comes: then the page says so
 * and is left as it is, because something may have been typed into it.
 */
export async function loadLater<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  while (!(await serviceAnswers())) await new Promise((done) => setTimeout(done, RETRY_AFTER_MS))
  try {
    return await load()
  } catch {
    window.dispatchEvent(new Event(CODE_MISSING))
    return await new Promise(() => {})
  }
}
