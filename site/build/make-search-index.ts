import type { SearchIndex } from '../browser/search-index.ts'
import type { Source } from './read-sources.ts'
import type { Rendered } from './render-markdown.ts'

/** The text below each heading of each page. */
export function makeSearchIndex(rendered: readonly (Rendered & { readonly page: Source })[]): SearchIndex {
  return {
    pages: rendered.map(({ page }) => [page.address, page.title, page.section ?? 'Examples']),
    passages: rendered.flatMap(({ passages }, index) =>
      passages.map(
        ({ heading, text }) =>
          [index, heading?.depth === 1 ? '' : (heading?.id ?? ''), heading?.text ?? '', text.trim()] as const,
      ),
    ),
  }
}
