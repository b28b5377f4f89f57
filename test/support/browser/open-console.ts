import type { Browser, BrowserContext, Page } from '@playwright/test'
import type { NuncioProcess } from '../black-box/nuncio-process.ts'
import { QuickCli } from '../black-box/quick-cli.ts'
import { borrowBrowser } from './chromium.ts'
import { findBarriers } from './find-barriers.ts'
import { PageWatch } from './page-watch.ts'
import { addPerson, join, type Person, type StoredSession, signIn } from './person.ts'
import { type ServicePlan, startService } from './start-serving.ts'

interface ConsolePlan extends ServicePlan {
  /** False: there is no person yet, as at the first start. */
  readonly hasPerson?: boolean
}

interface AccountPlan {
  /** True: without the connection and the token that the first start creates in the first account. */
  readonly isEmpty?: boolean
  /** A person who owns only this account. Left out: the person who owns all other accounts. */
  readonly owner?: Person
}

/** A real service on its own data, shared by tests that run one after another. */
export interface ConsoleService {
  /** Without a trailing slash. */
  readonly url: string
  readonly service: NuncioProcess
  readonly cli: QuickCli
  readonly browser: Browser
  /** A new account, for tests that must not see each other's data. */
  openAccount(plan?: AccountPlan): Promise<OpenConsole>
  /** The account that the first start has made. */
  openFirstAccount(): Promise<OpenConsole>
  close(): Promise<void>
}

/** What one test needs: an account, and a browser that shares nothing with other tests. */
export interface OpenConsole {
  readonly url: string
  readonly service: NuncioProcess
  readonly cli: QuickCli
  readonly browser: Browser
  /** Signed in as `person`, unless there is none. */
  readonly page: Page
  readonly person: Person
  /** The account's id, as in the URLs of its pages. */
  readonly account: string
  /** Opens a context that acts as another browser, in which no one is signed in. It is watched like the first. */
  openContext(): Promise<BrowserContext>
  /** Opens a page in another browser, in which this person is signed in. */
  openPageOf(person: Person): Promise<Page>
  /** Opens a page of the account, such as `/developer/tokens`, and waits for its heading. */
  visit(path: string): Promise<void>
  /** What axe finds on the page, light and dark; a test expects it to be empty. */
  axe(page?: Page): Promise<string[]>
  /** Creates a token of the account that may send for 7 days, and returns it. */
  createToken(name: string): Promise<string>
  /** Throws if any page failed or broke its policy since the last call. */
  checkPages(): void
  /** Ends what was opened here. Throws as `checkPages` does. */
  close(): Promise<void>
}

const OWNER: Person = { name: 'Olivia Owner', email: 'olivia@example.com', password: 'violet tractor napkin orbit' }
const NUMBER = '15550001000'
const DESKTOP = { width: 1440, height: 800 }
// A limit for what never comes: a page may take long on a busy machine.
const LONGEST_STEP_MS = 60_000
// Sensitive actions need a sign-in within the last five minutes, so a test starts with a session hardly older than itself.
const SESSION_REUSED_FOR_MS = 60_000

/** For tests that need their own service. Closing the console ends it. */
export async function openConsole(plan: ConsolePlan = {}): Promise<OpenConsole> {
  const service = await startConsole(plan)
  try {
    const opened = await ((plan.hasPerson ?? true) ? service.openFirstAccount() : openBrowser(service, ''))
    const close = async () => {
      await service.close()
      opened.checkPages()
    }
    return { ...opened, close }
  } catch (error) {
    await service.close()
    throw error
  }
}

/** A service with an owner, unless the plan says otherwise. */
export async function startConsole(plan: ConsolePlan = {}): Promise<ConsoleService> {
  const closers: (() => Promise<void> | void)[] = []
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const hasPerson = plan.hasPerson ?? true
    const steps = [
      startService(plan, closers),
      borrowBrowser(),
      hasPerson ? QuickCli.load() : Promise.resolve(),
    ] as const
    // Wait for all of them: what one has started must be ended even if another fails.
    await Promise.allSettled(steps)
    const [{ service, cli }, { browser, giveBack }] = await Promise.all(steps)
    closers.push(giveBack)
    const place = { url: service.url, service, cli, browser }
    if (hasPerson) await addPerson(cli, OWNER)
    const sessions = new OwnerSession(service.url)
    let accounts = 0
    return {
      ...place,
      openAccount: async ({ isEmpty = false, owner } = {}) => {
        accounts += 1
        const account = await createAccount(cli, { name: `Account ${accounts}`, isEmpty })
        if (owner) {
          await addPerson(cli, owner, { account })
          return await openBrowser(place, account, { person: owner, session: await signIn(place.url, owner) })
        }
        const session = await sessions.get()
        await join(place.url, { link: await invite(cli, account), session })
        return await openBrowser(place, account, { person: OWNER, session })
      },
      openFirstAccount: async () => {
        const [first] = await cli.json<{ id: string }[]>('account', 'list')
        if (!first) throw new Error('The first start has made no account')
        return await openBrowser(place, first.id, { person: OWNER, session: await sessions.get() })
      },
      close: closeAll,
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

class OwnerSession {
  readonly #url: string
  #session: StoredSession | null = null
  #signedInAt = 0

  constructor(url: string) {
    this.#url = url
  }

  async get(): Promise<StoredSession> {
    if (this.#session && performance.now() - this.#signedInAt < SESSION_REUSED_FOR_MS) return this.#session
    this.#signedInAt = performance.now()
    this.#session = await signIn(this.#url, OWNER)
    return this.#session
  }
}

async function createAccount(
  cli: QuickCli,
  { name, isEmpty }: { readonly name: string; readonly isEmpty: boolean },
): Promise<string> {
  const { id } = await cli.json<{ id: string }>('account', 'create', name)
  if (isEmpty) return id
  await cli.json('connection', 'add', NUMBER, '--channel', 'sandbox', '--account', id)
  await cli.json('token', 'create', '--name', 'first token', '--expires', '30d', '--account', id)
  return id
}

/** Returns the secret of a link that makes the owner an owner of this account, too. */
async function invite(cli: QuickCli, account: string): Promise<string> {
  const { url } = await cli.json<{ url: string }>('user', 'add', OWNER.email, '--role', 'owner', '--account', account)
  return url.slice(url.lastIndexOf('/') + 1)
}

type Place = Pick<ConsoleService, 'url' | 'service' | 'cli' | 'browser'>

async function openBrowser(
  place: Place,
  account: string,
  signedIn: { readonly person: Person; readonly session?: StoredSession } = { person: OWNER },
): Promise<OpenConsole> {
  const { url, cli, browser } = place
  const watch = new PageWatch()
  const contexts: BrowserContext[] = []
  const open = async (session?: StoredSession) => {
    const context = await browser.newContext({
      baseURL: url,
      viewport: DESKTOP,
      reducedMotion: 'reduce',
      ...(session && { storageState: session }),
    })
    contexts.push(context)
    context.setDefaultTimeout(LONGEST_STEP_MS)
    await watch.start(context)
    return context
  }
  const page = await (await open(signedIn.session)).newPage()
  const checkPages = () => {
    const faults = watch.takeFaults()
    if (faults.length > 0) throw new Error(`Pages did what they must not:\n${faults.join('\n')}`)
  }
  return {
    ...{ ...place, page, person: signedIn.person, account, checkPages },
    openContext: () => open(),
    openPageOf: async (person) => (await open(await signIn(url, person))).newPage(),
    visit: async (path) => {
      await page.goto(`/console/a/${account}${path}`)
      await page.locator('[data-page-title]').waitFor()
    },
    axe: (other = page) => findBarriers(other),
    createToken: async (name) => {
      const words = ['token', 'create', '--name', name, '--expires', '7d', '--account', account]
      return (await cli.json<{ token: string }>(...words)).token
    },
    close: async () => {
      for (const context of contexts) await context.close()
      checkPages()
    },
  }
}
