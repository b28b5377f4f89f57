import { isoTime } from '../../format/instants.ts'

const MOMENT = /(^|_)(at|until|since)$|(At|Until|Since)$/

/** Database rows in the form of our JSON: names in camelCase, times in ISO 8601, at any depth. */
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
