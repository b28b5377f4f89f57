const TYPES: Readonly<Record<string, string>> = {
  message: 'Text',
  image: 'Image',
  document: 'Document',
  video: 'Video',
  audio: 'Audio',
}

export function typeWord(type: string): string {
  return TYPES[type] ?? type
}

const dayFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
})
const DAY_MS = 86_400_000

/** "Today", "Yesterday", or the date, by the clock of the browser. */
export function dayOf(at: number, now: number): string {
  const day = dayFormat.format(at)
  if (day === dayFormat.format(now)) return 'Today'
  return day === dayFormat.format(now - DAY_MS) ? 'Yesterday' : day
}

/** What pressing “Mark read” does: the network of the sandbox reports it, like any other. */
export function readText(count: number): string {
  if (count === 0) return 'Everything in this chat was read already.'
  return `Read: the report of ${count === 1 ? '1 message' : `${count} messages`} comes within seconds.`
}

export function clearedText(count: number): string {
  if (count === 0) return 'There was nothing to clear.'
  return `Cleared: ${count === 1 ? '1 delivery' : `${count.toLocaleString('en')} deliveries`}.`
}
