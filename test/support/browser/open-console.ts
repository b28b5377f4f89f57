import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from '@playwright/test'
import { findFreePort } from '../black-box/free-port.ts'
import { NuncioCli } from '../black-box/nuncio-cli.ts'
import { NuncioProcess } from '../black-box/nuncio-process.ts'
import { openTestFolder } from '../black-box/test-folder.ts'
import { openTestDatabase } from '../postgres/test-database.ts'
import { borrowBrowser } from './chromium.ts'
import { findBarriers } from './find-barriers.ts'
import { PageWatch } from './page-watch.ts'
import { addPerson, type Person, signInAs } from './person.ts'

export const ENGINES = ['SQLite', 'PostgreSQL'] as const
export type EngineName = (typeof ENGINES)[number]

/**
 * Both, unless `BROWSER_TESTS_ON=one` says that there is no time for that, as on a machine of CI that starts processes
 * slowly. What a page shows comes from the console's API, which has tests of its own on both.
 */
export function enginesOr(one: EngineName): readonly EngineName[] {
  return process.env['BROWSER_TESTS_ON'] === 'one' ? [one] : ENGINES
}

interface ConsolePlan {
  readonly engine?: EngineName
  readonly environment?: Readonly<Record<string, string>>
  /** False: nobody is there yet, as at the first start. */
  readonly hasPerson?: boolean
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** A real service on data of its own, and a browser in front of it. */
export interface OpenConsole {
  /** Of the service, without a slash at its end. */
  readonly url: string
  readonly service: NuncioProcess
  readonly cli: NuncioCli
  /** Signed in as `person`, unless there is none. */
  readonly page: Page
  readonly person: Person
  /** The account's id, as in the addresses of its pages. */
  readonly account: string
  readonly browser: Browser
  /** Another browser, so to speak: nobody is signed in there. It is watched like the first. */
  openContext(): Promise<BrowserContext>
  /** Opens a page of the account, such as `/developer/tokens`, and waits for its heading. */
  visit(path: string): Promise<void>
  /** What axe finds on the page, light and dark; a test expects it to be empty. */
  axe(page?: Page): Promise<string[]>
  /** Ends all. Throws when any page failed, or broke its policy. */
  close(): Promise<void>
}

const OWNER: Person = { name: 'Olivia Owner', email: 'olivia@example.com', password: 'violet tractor napkin orbit' }
const DESKTOP = { width: 1280, height: 800 }

export async function openConsole(plan: ConsolePlan = {}): Promise<OpenConsole> {
  const closers: (() => Promise<void> | void)[] = []
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const { service, cli } = await startService(plan, closers)
    const { browser, giveBack } = await borrowBrowser()
    closers.push(giveBack)
    const watch = new PageWatch()
    const openContext = async () => {
      const context = await browser.newContext({
        baseURL: service.url,
        viewport: plan.viewport ?? DESKTOP,
        reducedMotion: 'reduce',
      })
      context.setDefaultTimeout(20_000)
      await watch.start(context)
      return context
    }
    const page = await (await openContext()).newPage()
    const hasPerson = plan.hasPerson ?? true
    const account = hasPerson ? await addPerson(cli, OWNER) : ''
    if (hasPerson) await signInAs(page, OWNER)
    return {
      url: service.url,
      ...{ service, cli, page, person: OWNER, account, browser, openContext },
      visit: async (path) => {
        await page.goto(`/console/a/${account}${path}`)
        await page.locator('[data-page-title]').waitFor()
      },
      axe: (other = page) => findBarriers(other),
      close: async () => {
        await closeAll()
        const faults = watch.takeFaults()
        if (faults.length > 0) throw new Error(`Pages did what they must not:\n${faults.join('\n')}`)
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

async function startService(plan: ConsolePlan, closers: (() => Promise<void> | void)[]) {
  const folder = openTestFolder()
  closers.push(() => folder.remove())
  const environment: Record<string, string> = { ...plan.environment }
  if (plan.engine === 'PostgreSQL') {
    const database = await openTestDatabase()
    closers.push(() => database.drop())
    environment['NUNCIO_DATABASE_URL'] = database.url
  }
  const dataDir = join(folder.path, 'data')
  const place = { dataDir, workDir: folder.path, environment }
  const service = new NuncioProcess({ ...place, port: await findFreePort(), onStart: (pid) => folder.remember(pid) })
  closers.push(() => service.stop())
  await service.start()
  return { service, cli: new NuncioCli(place) }
}
