import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

export const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What keeps people out of the page as it stands, light and dark; one line each. Empty: nothing that axe can find. */
export async function findBarriers(page: Page, show: typeof showIn = showIn): Promise<string[]> {
  const found: string[] = []
  for (const scheme of SCHEMES) {
    await show(page, scheme)
    const { violations } = await lookAt(page)
    for (const { id, nodes } of violations) {
      for (const { target, failureSummary = '' } of nodes) {
        found.push(`${scheme} ${page.url()}: ${id} at ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`)
      }
    }
  }
  return found
}

/**
 * By all rules, which takes a third of the time when what is in order is not listed, and when axe ends where it began:
 * otherwise it opens another page for that, because of pages that hold others of foreign origin. Ours never do.
 */
function lookAt(page: Page) {
  return new AxeBuilder({ page })
    .options({ resultTypes: ['violations'] })
    .withTags(RULES)
    .setLegacyMode()
    .analyze()
}

/** The person's system changes its colours; the page follows, unless somebody chose otherwise in it. */
export async function showIn(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
  await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor()
  // Colours that are still on their way from the one scheme to the other belong to neither.
  await page.evaluate(COLOURS_SETTLED)
}

// As text, because these names are the browser's and not Node's.
const COLOURS_SETTLED = `(async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
  await Promise.allSettled(ending.map(({ finished }) => finished))
})()`
