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
