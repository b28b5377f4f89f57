import type { Page } from '@playwright/test'

const MOST_STOPS = 250

interface Stop {
  /** What has the focus, in a few words. Null: the page itself has it, so the walk is over. */
  readonly what: string | null
  readonly isSeenBefore: boolean
  /** Whether it is the first stop of the walk. A browser without an address bar wraps around to it. */
  readonly isFirst: boolean
  /** What is wrong with it; null: nothing. */
  readonly fault: string | null
}

/**
 * What stops people who press Tab from using the page, one line each: a stop that shows no focus, lies outside of the window or
 * under something else, or that Tab does not leave.
 */
export async function findTabFaults(page: Page): Promise<string[]> {
  const faults: string[] = []
  await page.evaluate('window.tabStops = new Set(); document.activeElement?.blur(); window.scrollTo(0, 0)')
  for (let count = 0; count < MOST_STOPS; count += 1) {
    await page.keyboard.press('Tab')
    const { what, isSeenBefore, isFirst, fault } = await page.evaluate<Stop>(STOP)
    if (what === null) return count === 0 ? [`${page.url()}: Tab reaches nothing`] : faults
    if (isSeenBefore) return isFirst ? faults : [...faults, `${page.url()}: ${what}: Tab goes back to it`]
    if (fault !== null) faults.push(`${page.url()}: ${what}: ${fault}`)
  }
  return [...faults, `${page.url()}: Tab does not come to an end`]
}

// This is text because it runs in the browser, whose names Node's types do not have.
const STOP = `(() => {
  const partsOf = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number)
  const luminance = (colour) => {
    const [red, green, blue] = partsOf(colour).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const groundOf = (one) => {
    for (let up = one.parentElement; up; up = up.parentElement) {
      const { backgroundColor } = getComputedStyle(up)
      if ((partsOf(backgroundColor)[3] ?? 1) === 1) return backgroundColor
    }
    return getComputedStyle(document.body).backgroundColor
  }
  const finish = () => {
    // During a transition a colour still has its old value.
    for (const animation of document.getAnimations()) if (animation.effect?.getComputedTiming().endTime !== Infinity) animation.finish()
  }
  /** WCAG 1.4.11: an outline needs a contrast of 3 : 1 to its surroundings. */
  const outlineFault = (scheme) => {
    const root = document.documentElement
    const before = root.getAttribute('data-mantine-color-scheme')
    root.setAttribute('data-mantine-color-scheme', scheme)
    finish()
    const outlined = around.find((one) => getComputedStyle(one).outlineStyle !== 'none')
    const found = outlined && contrast(getComputedStyle(outlined).outlineColor, groundOf(outlined))
    root.setAttribute('data-mantine-color-scheme', before)
    finish()
    return outlined && found < 3 ? 'its outline has ' + found.toFixed(1) + ' : 1 in the ' + scheme + ' theme' : null
  }
  const at = document.activeElement
  if (!at || at === document.body) return { what: null, fault: null }
  const isSeenBefore = window.tabStops.has(at)
  window.tabStops.add(at)
  const isFirst = window.tabStops.values().next().value === at
  const words = (at.getAttribute('aria-label') ?? at.textContent ?? '').trim().slice(0, 40)
  const what = at.tagName.toLowerCase() + ' “' + (words || at.getAttribute('name') || at.id) + '”'
  // A hidden radio button or switch shows its focus in the element that stands for it.
  const around = [at, at.parentElement, at.parentElement?.parentElement, at.nextElementSibling].filter(Boolean)
  const readStyle = () => {
    finish()
    return around.map((one) => {
    const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, textDecorationLine } = getComputedStyle(one)
    const outline = outlineStyle === 'none' || outlineWidth === '0px' ? '' : outlineStyle + outlineWidth + outlineColor
    return [outline, boxShadow, borderColor, backgroundColor, textDecorationLine].join()
  }).join(';')
  }
  const focused = readStyle()
  at.blur()
  const blurred = readStyle()
  at.focus()
  const pale = ['light', 'dark'].map(outlineFault).find((one) => one !== null)
  if (pale) return { what, isSeenBefore, isFirst, fault: pale }
  if (focused === blurred) return { what, isSeenBefore, isFirst, fault: 'nothing shows that it has the focus' }
  const box = [at, at.closest('label'), at.nextElementSibling, at.parentElement]
    .map((one) => one?.getBoundingClientRect()).find((one) => one && one.width > 3 && one.height > 3)
  if (!box) return { what, isSeenBefore, isFirst, fault: 'it has no size' }
  const [x, y] = [box.left + Math.min(box.width, 20) / 2, box.top + Math.min(box.height, 20) / 2]
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return { what, isSeenBefore, isFirst, fault: 'it lies outside of the window' }
  const top = document.elementFromPoint(x, y)
  const isOwn = !top || around.some((one) => one.contains(top) || top.contains(one)) || top.closest('[role=tooltip]')
  return { what, isSeenBefore, isFirst, fault: isOwn ? null : 'it lies under ' + top.tagName + ' ' + top.className }
})()`
