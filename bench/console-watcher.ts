import { NuncioCli } from '../test/support/black-box/nuncio-cli.ts'
import type { MadeData } from './made-data.ts'

const PASSWORD = 'seven herons over a frozen harbour'
// The pages that people leave open. Each is reloaded after every change.
const PAGES = ['overview?range=24h', 'log', 'connections']

/** People with the console open: one tab for each page. Each reloads as soon as it is notified of a change. */
export class ConsoleWatcher {
  readonly #base: string
  /** The cookie that signs requests in as this person. */
  readonly cookie: string
  readonly #over = new AbortController()
  #watching: Promise<unknown> = Promise.resolve()
  /** How often a page was read. */
  reads = 0

  private constructor(base: string, cookie: string) {
    this.#base = base
    this.cookie = cookie
  }

  /** Adds a person with read rights, and signs them in to a running service. */
  static async signIn(data: MadeData, workDir: string, port: number): Promise<ConsoleWatcher> {
    const { dataDir, environment } = data
    const email = `watcher-${Date.now()}@example.org`
    const cli = new NuncioCli({ dataDir, workDir, environment })
    const { code, stderr } = await cli.runWith(`${PASSWORD}\n`, 'user', 'add', email, '--password-stdin')
    if (code !== 0) throw new Error(`nuncio user add ended with ${code}: ${stderr}`)
    const origin = `http://127.0.0.1:${port}`
    const reply = await fetch(`${origin}/console/api/sign-in`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: PASSWORD, keep: false }),
    })
    const cookies = reply.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
    if (!reply.ok) throw new Error(`Signing in was answered with ${reply.status}: ${await reply.text()}`)
    return new ConsoleWatcher(`${origin}/console/api/accounts/${data.accountId}`, cookies.join('; '))
  }

  open(): void {
    this.#watching = Promise.all(PAGES.map((page) => this.#watch(page)))
  }

  /** Rejects if a page could not be read. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.#watching
  }

  async #watch(page: string): Promise<void> {
    const { signal } = this.#over
    try {
      const stream = await this.#get('stream', signal)
      await this.#read(page)
      for await (const _ of stream.body ?? []) await this.#read(page)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #read(page: string): Promise<void> {
    await (await this.#get(page, this.#over.signal)).arrayBuffer()
    this.reads += 1
  }

  async #get(path: string, signal: AbortSignal): Promise<Response> {
    const reply = await fetch(`${this.#base}/${path}`, { headers: { cookie: this.cookie }, signal })
    if (!reply.ok) throw new Error(`${path} was answered with ${reply.status}: ${await reply.text()}`)
    return reply
  }
}
