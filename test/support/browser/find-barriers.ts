import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { findFaintBorders } from './find-faint-borders.ts'

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
// Of the rules with these tags, those that a colour can break. For all others the two schemes are the same page.
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

// The builder loads its own script when this is empty.
const NOTHING_TO_LOAD = ';'

export const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/**
 * What keeps people out of the page as it stands, in light by all rules and in dark by those of colours; one line each.
 * Empty: nothing that axe can find, and no border that is hard to see.
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
 * What is in order is not listed, and axe ends where it began: otherwise it opens another page for that,
 * because of pages that hold others of foreign origin. Ours never do. Its half a megabyte of script stays in the page,
 * because loading it takes longer than the analysis itself.
 */
async function analyze(page: Page, scheme: Scheme) {
  const isLoaded = await page.evaluate<boolean>('typeof window.axe === "object"')
  const axe = new AxeBuilder(isLoaded ? { page, axeSource: NOTHING_TO_LOAD } : { page })
    .options({ resultTypes: ['violations'] })
    .setLegacyMode()
  return await (scheme === 'light' ? axe.withTags(TAGS) : axe.withRules(OF_COLOURS)).analyze()
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
