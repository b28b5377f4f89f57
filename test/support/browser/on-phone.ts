import type { Page } from '@playwright/test'
import { findBarriers } from './find-barriers.ts'

const PHONE = { width: 390, height: 844 }

/** The accessibility faults at the width of a phone, light and dark: what axe finds, and what sticks out at the side. */
export function findBarriersOnPhone(page: Page): Promise<string[]> {
  return onPhone(page, async () => {
    const found = await findBarriers(page)
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    return overflow > 0 ? [...found, `${page.url()}: ${overflow} pixels stand out at the side`] : found
  })
}

/** Runs `find` while the page has the width of a phone. */
export async function onPhone<Found>(page: Page, find: () => Promise<Found>): Promise<Found> {
  const before = page.viewportSize()
  // A phone has no pointer, which could otherwise hover over something.
  await page.mouse.move(0, 0)
  await page.setViewportSize(PHONE)
  const found = await find()
  if (before) await page.setViewportSize(before)
  return found
}
