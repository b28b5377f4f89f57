import { type ComponentType, lazy } from 'react'

/** How long to wait before the service is checked again. */
export const RETRY_AFTER_MS = 2_000
// A service that stands still takes a request and never answers it.
const ANSWERS_WITHIN_MS = 5_000
/** The window event for missing code of an open page. */
export const CODE_MISSING = 'nuncio:code-missing'

/** Whether the service answers, so that the page could be reloaded now. */
export async function serviceAnswers(): Promise<boolean> {
  try {
    return (await fetch(location.href, { cache: 'no-store', signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) })).ok
  } catch {
    return false
  }
}

/** A component whose code is loaded when it is first shown. */
export function lazily<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadLater(load) }))
}

/**
 * Loads code that an open page needs later. Not while the service is away, because many browsers remember a failed import
 * until the page is reloaded. If an upgrade has replaced the file, the page says so and is not reloaded, because the
 * person may have typed something into it.
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
