import type { SearchIndex } from './search-index.ts'

export interface Found {
  readonly address: string
  readonly title: string
  readonly heading: string
  readonly excerpt: string
}

const MOST = 12
const EXCERPT_CHARACTERS = 140
// A word in the title counts more than one in a heading, and that more than one in the text.
const WEIGHT = { title: 12, heading: 6, text: 1 }

/** The passages with all words, the best first. */
export function findPassages({ pages, passages }: SearchIndex, query: string): Found[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? []
  if (words.length === 0) return []
  return passages
    .flatMap((passage) => {
      const page = pages[passage[0]]
      const score = page ? scoreOf(words, { title: page[1], heading: passage[2], text: passage[3] }) : 0
      return page && score > 0 ? [{ page, passage, score }] : []
    })
    .sort((one, other) => other.score - one.score)
    .slice(0, MOST)
    .map(({ page, passage: [, id, heading, text] }) => ({
      address: id === '' ? page[0] : `${page[0]}#${id}`,
      title: page[1],
      heading: id === '' ? '' : heading,
      excerpt: excerptOf(text, words),
    }))
}

/** 0 when a word is missing. */
function scoreOf(words: readonly string[], fields: Record<keyof typeof WEIGHT, string>): number {
  let score = 0
  for (const word of words) {
    const ofWord = (Object.keys(WEIGHT) as (keyof typeof WEIGHT)[]).reduce(
      (sum, name) => sum + WEIGHT[name] * closeness(fields[name].toLowerCase(), word),
      0,
    )
    if (ofWord === 0) return 0
    score += ofWord
  }
  return score
}

/** A whole word counts most, the beginning of a word less, a part of a word least. */
function closeness(text: string, word: string): number {
  let best = 0
  for (let at = text.indexOf(word); at !== -1 && best < 3; at = text.indexOf(word, at + 1)) {
    const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')
    const ends = !/[\p{L}\p{N}]/u.test(text[at + word.length] ?? ' ')
    best = Math.max(best, begins ? (ends ? 3 : 2) : 1)
  }
  return best
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const at = Math.max(
    0,
    Math.min(...words.map((word) => lower.indexOf(word)).filter((place) => place >= 0), text.length),
  )
  const start = at >= text.length || at < 40 ? 0 : text.indexOf(' ', at - 40) + 1
  const cut = text.slice(start, start + EXCERPT_CHARACTERS)
  return `${start > 0 ? '… ' : ''}${cut}${start + EXCERPT_CHARACTERS < text.length ? ' …' : ''}`
}
