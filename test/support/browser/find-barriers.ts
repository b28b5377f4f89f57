import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

// The builder loads its own script when this is empty.
const NOTHING_TO_LOAD = ';'

export const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/** What keeps people out of the page as it stands, light and dark; one line each. Empty: nothing that axe can find. */
export async function findBarriers(page: Page, show: typeof showIn = showIn): Promise<string[]> {
  const found: string[] = []
  for (const scheme of SCHEMES) {
    await show(page, scheme)
    const { violations } = await analyze(page)
    for (const { id, nodes } of violations) {
      for (const { target, failureSummary = '' } of nodes) {
        found.push(`${scheme} ${page.url()}: ${id} at ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`)
      }
    }
  }
  return found
}

/**
 * By all rules. What is in order is not listed, and axe ends where it began: otherwise it opens another page for that,
 * because of pages that hold others of foreign origin. Ours never do. Its half a megabyte of script stays in the page,
 * because loading it takes longer than the analysis itself.
 */
async function analyze(page: Page) {
  const isLoaded = await page.evaluate<boolean>('typeof window.axe === "object"')
  return await new AxeBuilder(isLoaded ? { page, axeSource: NOTHING_TO_LOAD } : { page })
    .options({ resultTypes: ['violations'] })
    .withTags(RULES)
    .setLegacyMode()
    .analyze()
}

/** The person's system changes its colours; the page follows, unless another choice was made in it. */
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
