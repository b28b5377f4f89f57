import { existsSync } from 'node:fs'
import { type Browser, chromium } from '@playwright/test'

// Debian's own: Playwright would download one that we cannot reach.
const EXECUTABLE = '/usr/bin/chromium'

/** Why there are no tests in a browser on this machine; null: there are. */
export function whyNoBrowser(): string | null {
  return existsSync(EXECUTABLE) ? null : 'Chromium is not installed: run `apt-get install chromium`'
}

export async function openBrowser(): Promise<Browser> {
  // Its sandbox wants a user other than root, and rights that containers do not give. It opens only our own pages.
  return await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--font-render-hinting=none'] })
}
