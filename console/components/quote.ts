// Whose words these are depends on nothing else: Nuncio writes them itself.
const OWN_WORDS = /^(?:media_|paused|database_went_back|storage_|service_|process_|backlog_|hold)/
const SPEAKERS: Readonly<Record<string, string>> = { sandbox: 'The sandbox said', 'whatsapp-cloud': 'Meta said' }

export interface Quote {
  readonly speaker: string
  readonly words: string
}

/** The words that came with a reason, and whose they are; null: there are none. */
export function quoteOf(code: string, words: string | null, channel: string): Quote | null {
  if (words === null) return null
  return { speaker: OWN_WORDS.test(code) ? 'Nuncio noted' : (SPEAKERS[channel] ?? 'The network said'), words }
}
