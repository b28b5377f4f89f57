/** The index of the search: pages, and the text below each heading. */
export interface SearchIndex {
  readonly pages: readonly (readonly [address: string, title: string, section: string])[]
  readonly passages: readonly (readonly [page: number, id: string, heading: string, text: string])[]
}
