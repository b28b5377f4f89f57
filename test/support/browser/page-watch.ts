import type { BrowserContext, Page } from '@playwright/test'

// The browser logs every reply that is not a success. The test decides which replies should have been one.
const REPLIES = 'Failed to load resource'

// This is text because it runs in the page: Node's types have no `document`.
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('policy violated: ' + event.violatedDirective + ' by ' + event.blockedURI + ' ' + event.sample)
})`

/** Collects what no page may do: break its own policy, or fail. */
export class PageWatch {
  readonly #faults: string[] = []

  /** Call it before the first page is opened. */
  async start(context: BrowserContext): Promise<void> {
    await context.addInitScript(REPORT_VIOLATIONS)
    context.on('page', (page) => this.#follow(page))
  }

  /** Returns what was seen since the last call. */
  takeFaults(): readonly string[] {
    return this.#faults.splice(0)
  }

  #follow(page: Page): void {
    page.on('pageerror', (error) => this.#faults.push(`${page.url()}: ${error.stack ?? error.message}`))
    page.on('console', (message) => {
      if (message.type() !== 'error' || message.text().startsWith(REPLIES)) return
      this.#faults.push(`${page.url()}: ${message.text()}`)
    })
  }
}
