export interface SavedView {
  readonly name: string
  /** As it stands in the address. */
  readonly search: string
}

const MOST = 20

/** A view of the same name is replaced; the oldest goes when there are too many. */
export function withView(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  return [...views.filter(({ name }) => name !== view.name), view].slice(-MOST)
}
