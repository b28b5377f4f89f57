/** What the search in the browser reads: pages, and what stands below each of their headings. */
export interface SearchIndex {
  readonly pages: readonly (readonly [address: string, title: string, section: string])[]
  readonly passages: readonly (readonly [page: number, id: string, heading: string, text: string])[]
}
