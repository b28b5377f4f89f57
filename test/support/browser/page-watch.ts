import type { BrowserContext, Page } from '@playwright/test'

// The browser itself reports every reply that is no success there. The test decides whether it should have been one.
const REPLIES = 'Failed to load resource'

// Runs in the page: as text, because nothing else here knows what a document is.
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('policy violated: ' + event.violatedDirective + ' by ' + event.blockedURI + ' ' + event.sample)
})`

/** Collects what no page may ever do: break its own policy, or fail. */
export class PageWatch {
  readonly #faults: string[] = []

  /** Before the first page is opened. */
  async start(context: BrowserContext): Promise<void> {
    await context.addInitScript(REPORT_VIOLATIONS)
    context.on('page', (page) => this.#follow(page))
  }

  /** What was seen so far, and forgets it. */
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
