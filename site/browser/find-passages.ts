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
// Of three or more words some may be missing, because people type whole questions.
const LEAST_SHARE = 0.6
// The changelog names everything and explains nothing.
const LAST = '/docs/changelog'
// Decisions are for people who change Nuncio, and contain the words of every page.
const DECISIONS = '/docs/decisions/'
const DECISIONS_SHARE = 0.3

/** Words that every page has. They count only when the query has no others. */
const FILLERS = new Set(
  'a an and are be been can do does for from has have how i if in is it its me my of on or our that the this to was we what when where which who why will with you your'.split(
    ' ',
  ),
)

/** What people call things for which the pages use other words. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  'opt-out': ['block list', 'blocked', 'asked to stop'],
  unsubscribe: ['block list', 'blocked', 'asked to stop'],
  blacklist: ['block list', 'blocked'],
  ssl: ['tls', 'certificate'],
  queue: ['lane', 'backlog'],
  undelivered: ['not sent', 'failed'],
  connected: ['connection'],
  error: ['refusal', 'reason', 'failed'],
  throttle: ['pace', 'least gap', 'rate'],
  password: ['passkey', 'sign in'],
  delete: ['erase', 'remove'],
  gdpr: ['personal data'],
  docker: ['container'],
  limits: ['at most'],
  stuck: ['waits', 'stands still'],
  callback: ['webhook'],
  apikey: ['token'],
  picture: ['image'],
  photo: ['image'],
  attachment: ['media', 'file', 'document'],
  size: ['limits', 'largest', 'mb'],
  scale: ['scaling'],
  pairing: ['link a phone', 'pair'],
}

/** The passages with all words, or with most of many words. The best come first. */
export function findPassages({ pages, passages }: SearchIndex, query: string): Found[] {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const phrase = query.trim().toLowerCase()
  return passages
    .flatMap((passage) => {
      const page = pages[passage[0]]
      if (!page) return []
      const share = page[0].startsWith(DECISIONS) ? DECISIONS_SHARE : 1
      const score = share * scoreOf(words, { title: page[1], heading: passage[2], text: passage[3] }, phrase)
      return score > 0 ? [{ page, passage, score }] : []
    })
    .sort((one, other) => isLast(one.page) - isLast(other.page) || other.score - one.score)
    .slice(0, MOST)
    .map(({ page, passage: [, id, heading, text] }) => ({
      address: id === '' ? page[0] : `${page[0]}#${id}`,
      title: page[1],
      heading: id === '' ? '' : heading,
      excerpt: excerptOf(text, words.flat()),
    }))
}

/** For each word of the query, all words that count as it. */
function wordsOf(query: string): string[][] {
  const text = query.toLowerCase().replace(/\bopt(?:ing|ed)?[ -]?out\b/g, 'opt-out')
  const all = text.match(/[\p{L}\p{N}_][\p{L}\p{N}_.-]*/gu) ?? []
  const telling = all.filter((word) => !FILLERS.has(word))
  return (telling.length > 0 ? telling : all).map((word) => {
    const singular = word.length > 3 ? word.replace(/(?<!s)s$/, '') : word
    return [...new Set([word, singular, ...(SYNONYMS[word] ?? [])])]
  })
}

function isLast([address]: SearchIndex['pages'][number]): number {
  return address === LAST ? 1 : 0
}

/** 0 when too many words are missing. */
function scoreOf(words: readonly string[][], fields: Record<keyof typeof WEIGHT, string>, phrase: string): number {
  const names = Object.keys(WEIGHT) as (keyof typeof WEIGHT)[]
  const scores = words.map((alternatives) => {
    const ofWord = (word: string) =>
      names.reduce((sum, name) => sum + WEIGHT[name] * closeness(fields[name].toLowerCase(), word), 0)
    return Math.max(...alternatives.map(ofWord))
  })
  const share = scores.filter((score) => score > 0).length / words.length
  if (share < LEAST_SHARE) return 0
  const sum = scores.reduce((total, score) => total + score, 0) * share ** 2
  return names.some((name) => fields[name].toLowerCase().includes(phrase)) ? 2 * sum : sum
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
  // The excerpt must not begin with a separator of table cells.
  const cut = text.slice(start, start + EXCERPT_CHARACTERS).replace(/^[·\s]+/, '')
  return `${start > 0 ? '… ' : ''}${cut}${start + EXCERPT_CHARACTERS < text.length ? ' …' : ''}`
}
