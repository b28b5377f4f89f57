/** The rows of the dashboard, from top to bottom. */
export const ROWS = [
  'Accepting',
  'Lanes',
  'Attempts',
  'Callbacks',
  'Webhooks',
  'Media',
  'Storage',
  'Console',
  'Process',
] as const
export type Row = (typeof ROWS)[number]

export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly unit: 'count' | 'seconds' | 'bytes'
  /** One sentence. */
  readonly help: string
  /** Each label with all values it can have. */
  readonly labels: Readonly<Record<string, readonly string[]>>
  /** The upper ends of a histogram's buckets. */
  readonly buckets: readonly number[]
  /** How the figures of several processes become one: `max` where each of them counts the same thing. */
  readonly together: 'sum' | 'max'
  /** Where the dashboard shows it, and which of its labels distinguish the lines. */
  readonly panel: { readonly row: Row; readonly title: string; readonly by: readonly string[] }
}

type Label = Readonly<Record<string, readonly string[]>>
type Short<Labels extends Label> = Pick<MetricDefinition, 'help'> & {
  readonly labels?: Labels
  readonly together?: 'sum' | 'max'
  readonly row: Row
  readonly title: string
  /** All of its labels when left out. */
  readonly by?: readonly (keyof Labels & string)[]
}
type Defined<Labels extends Label> = MetricDefinition & { readonly labels: Labels }

export function counter<const Labels extends Label = Record<never, never>>(
  short: Short<Labels>,
  unit: MetricDefinition['unit'] = 'count',
) {
  return { ...define(unit, short), kind: 'counter' as const }
}

export function gauge<const Labels extends Label = Record<never, never>>(
  unit: MetricDefinition['unit'],
  short: Short<Labels>,
) {
  return { ...define(unit, short), kind: 'gauge' as const }
}

export function histogram<const Labels extends Label = Record<never, never>>(
  unit: MetricDefinition['unit'],
  buckets: readonly number[],
  short: Short<Labels>,
) {
  return { ...define(unit, short), buckets, kind: 'histogram' as const }
}

function define<Labels extends Label>(
  unit: MetricDefinition['unit'],
  { help, labels, together = 'sum', row, title, by }: Short<Labels>,
): Omit<Defined<Labels>, 'kind'> {
  const all = labels ?? ({} as Labels)
  return { unit, help, labels: all, buckets: [], together, panel: { row, title, by: by ?? Object.keys(all) } }
}
