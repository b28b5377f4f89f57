import { type Found, findPassages } from './find-passages.ts'
import type { SearchIndex } from './search-index.ts'

interface Parts {
  readonly form: HTMLFormElement
  readonly input: HTMLInputElement
  readonly results: HTMLUListElement
  readonly status: HTMLElement
}

/** Search in all pages, with the arrow keys. The index is loaded once. */
export function startSearch(): void {
  const form = document.querySelector<HTMLFormElement>('[data-search-form]')
  const input = form?.querySelector('input')
  const results = form?.querySelector<HTMLUListElement>('[data-search-results]')
  const status = form?.querySelector<HTMLElement>('[data-search-status]')
  if (form && input && results && status) new Search({ form, input, results, status }).start()
}

class Search {
  readonly #parts: Parts
  readonly #file = new URL(document.body.dataset['search'] ?? '', location.href)
  #index: Promise<SearchIndex> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  start(): void {
    const { form, input } = this.#parts
    input.addEventListener('focus', () => void this.#load().catch(() => {}))
    input.addEventListener('input', () => void this.#search())
    form.addEventListener('keydown', (event) => this.#move(event))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#links()[0]?.click()
    })
    form.addEventListener('focusout', ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && form.contains(relatedTarget))) this.#show([])
    })
    document.addEventListener('keydown', (event) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || isWriting(event.target)) return
      event.preventDefault()
      input.focus()
    })
  }

  #load(): Promise<SearchIndex> {
    this.#index ??= fetch(this.#file, { credentials: 'omit' })
      .then((reply) => {
        if (!reply.ok) throw new Error(`The search index came with HTTP ${reply.status}`)
        return reply.json() as Promise<SearchIndex>
      })
      .catch((error: unknown) => {
        // The next letter tries again.
        this.#index = null
        throw error
      })
    return this.#index
  }

  async #search(): Promise<void> {
    const { input, status } = this.#parts
    const query = input.value.trim()
    try {
      const found = query === '' ? [] : findPassages(await this.#load(), query)
      // The reader may have typed more meanwhile.
      if (query !== input.value.trim()) return
      this.#show(found)
      status.textContent = query === '' ? '' : found.length === 0 ? 'Nothing found' : `${found.length} found`
      if (query !== '' && found.length === 0) this.#say('Nothing found. Try another word.')
    } catch {
      this.#say('The search could not be loaded. Type on to try again, or load this page again.')
    }
  }

  #show(found: readonly Found[]): void {
    const { results } = this.#parts
    results.replaceChildren(...found.map((one) => itemOf(one, this.#file)))
    results.hidden = found.length === 0
  }

  #say(words: string): void {
    const item = document.createElement('li')
    item.className = 'words'
    item.textContent = words
    this.#parts.results.replaceChildren(item)
    this.#parts.results.hidden = false
  }

  #links(): HTMLAnchorElement[] {
    return [...this.#parts.results.querySelectorAll('a')]
  }

  #move(event: KeyboardEvent): void {
    const { input } = this.#parts
    if (event.key === 'Escape') {
      this.#show([])
      input.focus()
    }
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    const stops: HTMLElement[] = [input, ...this.#links()]
    const at = stops.indexOf(document.activeElement as HTMLElement)
    const next = stops[at + (event.key === 'ArrowDown' ? 1 : -1)]
    if (!next) return
    event.preventDefault()
    next.focus()
  }
}

function itemOf({ address, title, heading, excerpt }: Found, searchFile: URL): HTMLLIElement {
  const link = document.createElement('a')
  // The index is in /docs/assets/, and a proxy may have put /docs/ below another path.
  link.href = new URL(`../..${address}`, searchFile).href
  const name = document.createElement('strong')
  name.textContent = heading === '' || heading === title ? title : `${title}: ${heading}`
  const words = document.createElement('span')
  words.textContent = excerpt
  link.append(name, words)
  const item = document.createElement('li')
  item.append(link)
  return item
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
}
