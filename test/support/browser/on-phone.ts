import type { Page } from '@playwright/test'
import { findBarriers } from './find-barriers.ts'

const PHONE = { width: 390, height: 844 }

// Only a canvas measures the width of a placeholder. As text, because these names are the browser's.
const CUT_PLACEHOLDERS = `[...document.querySelectorAll('input[placeholder]')].flatMap((field) => {
  const { font, paddingLeft, paddingRight } = getComputedStyle(field)
  const canvas = document.createElement('canvas').getContext('2d')
  canvas.font = font
  const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
  return field.clientWidth > 0 && canvas.measureText(field.placeholder).width > room ? [field.placeholder] : []
})`

/**
 * The accessibility faults at the width of a phone, light and dark: what axe finds, what sticks out at the side, and
 * placeholders that are cut.
 */
export function findBarriersOnPhone(page: Page): Promise<string[]> {
  return onPhone(page, async () => {
    const found = await findBarriers(page)
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    const cut = await page.evaluate<string[]>(CUT_PLACEHOLDERS)
    return [
      ...found,
      ...(overflow > 0 ? [`${page.url()}: ${overflow} pixels stand out at the side`] : []),
      ...cut.map((text) => `${page.url()}: the placeholder “${text}” is cut`),
    ]
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
