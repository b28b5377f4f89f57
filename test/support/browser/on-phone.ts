import type { Page } from '@playwright/test'
import { findBarriers } from './find-barriers.ts'

const PHONE = { width: 390, height: 844 }

/** What keeps people with a phone out of the page, light and dark: what axe finds, and what stands out at the side. */
export async function findBarriersOnPhone(page: Page): Promise<string[]> {
  const before = page.viewportSize()
  // A phone has no pointer that would happen to stand over something.
  await page.mouse.move(0, 0)
  await page.setViewportSize(PHONE)
  const found = await findBarriers(page)
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  if (before) await page.setViewportSize(before)
  return overflow > 0 ? [...found, `${page.url()}: ${overflow} pixels stand out at the side`] : found
}
