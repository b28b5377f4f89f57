import { existsSync } from 'node:fs'
import { type Browser, chromium } from '@playwright/test'

// Debian's package. Playwright downloads its own browser from a server that not every network reaches.
const EXECUTABLE = '/usr/bin/chromium'

/** Null where tests in a browser can run; otherwise the reason. */
export function whyNoBrowser(): string | null {
  return existsSync(EXECUTABLE) ? null : 'Chromium is not installed: run `apt-get install chromium`'
}

// Long enough that the next test still finds it open.
const KEPT_OPEN_MS = 3_000

let kept: Promise<Browser> | null = null
let closing: NodeJS.Timeout | undefined

interface BorrowedBrowser {
  readonly browser: Browser
  /** Closes all that was opened in the browser. */
  readonly giveBack: () => Promise<void>
}

/**
 * The browser of this process, for one borrower at a time. Contexts keep tests apart, and starting a browser takes longer than
 * many tests. It closes a while after its last use.
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

/** Opens a browser that the caller closes. */
export async function openBrowser(): Promise<Browser> {
  // Chromium's sandbox needs a user other than root, and rights that containers do not give. It opens only our own pages.
  return await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--font-render-hinting=none'] })
}
