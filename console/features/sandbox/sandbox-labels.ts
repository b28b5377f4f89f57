const TYPES: Readonly<Record<string, string>> = {
  message: 'Text',
  image: 'Picture',
  document: 'Document',
  video: 'Video',
  audio: 'Audio',
}

export function typeWord(type: string): string {
  return TYPES[type] ?? type
}

const KIB = 1024
const MIB = KIB * KIB

/** "312 B", "4.1 KiB", "2.0 MiB". */
export function sizeText(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`
  return bytes < MIB ? `${(bytes / KIB).toFixed(1)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`
}

const dayFormat = new Intl.DateTimeFormat(undefined, {
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
