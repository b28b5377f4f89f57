import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { openBelievableConsole, type ShownConsole } from '../test/support/browser/believable-console.ts'
import { SCHEMES, type Scheme, showIn } from '../test/support/browser/find-barriers.ts'
import { toPalette } from '../test/support/browser/palette-png.ts'
import { ROOT } from './source-tree.ts'

/** `npm run screenshots`: every page of the console, light and dark, and the main ones on a phone, into docs/images. */

const IMAGES = join(ROOT, 'docs/images')
const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 390, height: 844 }
// After a change of colours the browser needs a moment to paint icons and charts again.
const PAINTED_AFTER_MS = 700

interface Shot {
  readonly name: string
  readonly path: (shown: ShownConsole) => string
  readonly isOnPhone?: boolean
}

const SHOTS: readonly Shot[] = [
  { name: 'sandbox', path: ({ chat }) => `/sandbox?${chat}`, isOnPhone: true },
  { name: 'connections', path: () => '/connections', isOnPhone: true },
  { name: 'add-connection', path: () => '/connections/new' },
  { name: 'connection', path: ({ connection }) => `/connections/${connection}` },
  { name: 'tokens', path: () => '/developer/tokens', isOnPhone: true },
  { name: 'create-token', path: () => '/developer/tokens/new' },
  { name: 'token', path: ({ token }) => `/developer/tokens/${token}` },
  { name: 'webhooks', path: () => '/developer/webhooks' },
  { name: 'webhook', path: ({ webhook }) => `/developer/webhooks/${webhook}` },
  { name: 'logs', path: () => '/developer/logs', isOnPhone: true },
  { name: 'log', path: ({ request }) => `/developer/logs/${request}` },
  { name: 'quickstart', path: () => '/developer/quickstart' },
  { name: 'account', path: () => '/settings/account' },
  { name: 'people', path: () => '/settings/people' },
  { name: 'recipients', path: () => '/settings/recipients' },
  { name: 'retention', path: () => '/settings/retention' },
  { name: 'audit', path: () => '/settings/audit' },
  // By now the watchdog has checked.
  { name: 'attention', path: () => '/attention' },
  // Last, so that there is something to count; days are counted only every few minutes.
  { name: 'overview', path: () => '?range=1h', isOnPhone: true },
]

if (import.meta.main) await takeAll()

async function takeAll(): Promise<void> {
  mkdirSync(IMAGES, { recursive: true })
  for (const old of readdirSync(IMAGES)) if (old.endsWith('.png')) rmSync(join(IMAGES, old))
  const shown = await openBelievableConsole()
  try {
    await takeSignIn(shown)
    for (const shot of SHOTS) await take(shown, shot)
    await shown.page.goto('/console/me')
    await bothSchemes(shown.page, 'profile')
  } finally {
    await shown.close()
  }
  const bytes = readdirSync(IMAGES).reduce((sum, file) => sum + statSync(join(IMAGES, file)).size, 0)
  console.log(`${readdirSync(IMAGES).length} pictures in docs/images, ${(bytes / 1e6).toFixed(1)} MB`)
}

async function take(shown: ShownConsole, { name, path, isOnPhone = false }: Shot): Promise<void> {
  await shown.visit(path(shown))
  await bothSchemes(shown.page, name)
  if (!isOnPhone) return
  await shown.page.setViewportSize(PHONE)
  await picture(shown.page, 'light', `${name}-phone`)
  await shown.page.setViewportSize(DESKTOP)
}

async function takeSignIn(shown: ShownConsole): Promise<void> {
  const context = await shown.openContext()
  const page = await context.newPage()
  await page.goto('/console/sign-in')
  await page.locator('h1').waitFor()
  await bothSchemes(page, 'sign-in')
  await context.close()
}

async function bothSchemes(page: Page, name: string): Promise<void> {
  for (const scheme of SCHEMES) await picture(page, scheme, `${name}-${scheme}`)
}

async function picture(page: Page, scheme: Scheme, name: string): Promise<void> {
  await showIn(page, scheme)
  await page.mouse.move(0, 0)
  await page.waitForTimeout(PAINTED_AFTER_MS)
  const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  writeFileSync(join(IMAGES, `${name}.png`), toPalette(taken))
}
