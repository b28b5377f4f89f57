import { isoTime } from '../../format/instants.ts'

const MOMENT = /(^|_)(at|until|since)$|(At|Until|Since)$/

/** What tables hold, as people read it: names as all our JSON has them, moments as ISO 8601, at any depth. */
export function forPeople(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forPeople)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, given]: [string, unknown]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      typeof given === 'number' && MOMENT.test(name) ? isoTime(given) : forPeople(given),
    ]),
  )
}
