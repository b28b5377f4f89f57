export interface Line {
  readonly words: string
  readonly tone: 'good' | 'bad'
}

export const TOLD = 'nuncio-told'

/** A line at the edge of the page that goes by itself: "Token deleted". Not for what must be read: that stays on the page. */
export function tell(words: string, tone: Line['tone'] = 'good'): void {
  const detail: Line = { words, tone }
  window.dispatchEvent(new CustomEvent(TOLD, { detail }))
}

/** The same of what went wrong. */
export function tellError(error: unknown): void {
  tell(error instanceof Error ? error.message : String(error), 'bad')
}
