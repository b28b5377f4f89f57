import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { findFaintBorders } from './find-faint-borders.ts'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
// The rules of these tags that depend on colours. For all other rules the two schemes are the same page.
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

// With this the builder does not load its script again; it would if this were empty.
const NOTHING_TO_LOAD = ';'

export const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/**
 * The accessibility faults of the page as it is, one line each: by all rules in light, by the rules about colours in dark. Empty
 * if axe finds nothing and no border is hard to see.
 */
export async function findBarriers(page: Page, show: typeof showIn = showIn): Promise<string[]> {
  const found: string[] = []
  for (const scheme of SCHEMES) {
    await show(page, scheme)
    found.push(...(await findFaintBorders(page)).map((border) => `${scheme} ${page.url()}: ${border}`))
    const { violations } = await analyze(page, scheme)
    for (const { id, nodes } of violations) {
      for (const { target, failureSummary = '' } of nodes) {
        found.push(`${scheme} ${page.url()}: ${id} at ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`)
      }
    }
  }
  return found
}

/**
 * Runs axe without listing what passed. Legacy mode keeps axe from opening another page for frames of foreign origin, which our
 * pages never have. The half megabyte of axe stays in the page, because loading it takes longer than the analysis.
 */
async function analyze(page: Page, scheme: Scheme) {
  const isLoaded = await page.evaluate<boolean>('typeof window.axe === "object"')
  const axe = new AxeBuilder(isLoaded ? { page, axeSource: NOTHING_TO_LOAD } : { page })
    .options({ resultTypes: ['violations'] })
    .setLegacyMode()
  return await (scheme === 'light' ? axe.withTags(TAGS) : axe.withRules(OF_COLOURS)).analyze()
}

/** Changes the colour scheme of the person's system. The page follows, unless the person chose a scheme in it. */
export async function showIn(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
  await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor()
  // Wait for transitions: a colour halfway between the schemes belongs to neither.
  await page.evaluate(COLOURS_SETTLED)
}

// This is text because it runs in the browser, whose names Node's types do not have.
const COLOURS_SETTLED = `(async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
  await Promise.allSettled(ending.map(({ finished }) => finished))
})()`
