import { existsSync } from 'node:fs'
import { type Browser, chromium } from '@playwright/test'

// Debian's own: Playwright would download one that we cannot reach.
const EXECUTABLE = '/usr/bin/chromium'

/** Why there are no tests in a browser on this machine; null: there are. */
export function whyNoBrowser(): string | null {
  return existsSync(EXECUTABLE) ? null : 'Chromium is not installed: run `apt-get install chromium`'
}

// A test begins right after the one before it.
const KEPT_OPEN_MS = 3_000

let kept: Promise<Browser> | null = null
let closing: NodeJS.Timeout | undefined

interface BorrowedBrowser {
  readonly browser: Browser
  /** Ends all that was opened in it. */
  readonly giveBack: () => Promise<void>
}

/**
 * The browser of this process, for one at a time: contexts keep apart what tests do, and starting and ending a browser
 * takes longer than many of them. It ends a while after its last use.
 */
export async function borrowBrowser(): Promise<BorrowedBrowser> {
  clearTimeout(closing)
  if (kept && !(await kept).isConnected()) kept = null
  kept ??= openBrowser()
  const browser = await kept
  return {
    browser,
    giveBack: async () => {
      for (const context of browser.contexts()) await context.close()
      closing = setTimeout(() => {
        kept = null
        void browser.close()
      }, KEPT_OPEN_MS)
    },
  }
}

/** One of its own, which the caller closes. */
export async function openBrowser(): Promise<Browser> {
  // Its sandbox wants a user other than root, and rights that containers do not give. It opens only our own pages.
  return await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--font-render-hinting=none'] })
}
