import type { Aggregator } from 'prom-client'
import { OTHER } from './label-values.ts'
import type { MetricDefinition } from './metric-definition.ts'
import { METRICS, type MetricName } from './metric-table.ts'

/** One line of a counter or a gauge. */
export interface Tally {
  value: number
}

/** The figures of one histogram for one set of label values. Plain numbers, because some change with every message. */
export class Distribution {
  readonly #ends: readonly number[]
  readonly #counts: Float64Array
  sum = 0
  count = 0

  constructor(ends: readonly number[]) {
    this.#ends = ends
    this.#counts = new Float64Array(ends.length)
  }

  observe(value: number): void {
    this.sum += value
    this.count += 1
    const ends = this.#ends
    for (let at = 0; at < ends.length; at++) {
      if (value <= (ends[at] as number)) {
        this.#counts[at] = (this.#counts[at] as number) + 1
        return
      }
    }
  }

  /** How many were at most as large as each end, and as infinity. */
  cumulated(): readonly (readonly [end: number | '+Inf', count: number])[] {
    let sum = 0
    const counts = this.#ends.map((end, at) => {
      sum += this.#counts[at] as number
      return [end, sum] as const
    })
    return [...counts, ['+Inf', this.count]]
  }
}

interface Value {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

// A counter that begins with its first event hides that event from `rate` and `increase`, which see no change in it.
const BEGINS_AT_ZERO_UP_TO = 40

/**
 * One metric with all its label values, as prom-client's registry asks for it. It counts in plain numbers; the lines are
 * made when the metrics are collected.
 */
export class Counted {
  readonly name: string
  readonly help: string
  readonly type: MetricDefinition['kind']
  readonly aggregator: Aggregator
  readonly #definition: MetricDefinition
  readonly #allowed: readonly (readonly [string, ReadonlySet<string>])[]
  readonly #lines = new Map<
    string,
    { readonly labels: Readonly<Record<string, string>>; readonly line: Tally | Distribution }
  >()
  #collect: (() => void) | null = null

  constructor(name: MetricName) {
    const definition: MetricDefinition = METRICS[name]
    this.name = name
    this.help = definition.help
    this.type = definition.kind
    this.aggregator = definition.together
    this.#definition = definition
    this.#allowed = Object.entries(definition.labels).map(([label, values]) => [label, new Set(values)])
    this.#beginAtZero()
  }

  /** Called at each collection, before the lines are made. */
  collectWith(collect: () => void): void {
    this.#collect = collect
  }

  /** The line of these label values. A value that its list does not know counts as `other`. */
  of(labels: Readonly<Record<string, string>>): Tally | Distribution {
    const known: Record<string, string> = {}
    let key = ''
    for (const [label, allowed] of this.#allowed) {
      const given = labels[label] ?? OTHER
      const value = allowed.has(given) ? given : OTHER
      known[label] = value
      key += `${value}\n`
    }
    let found = this.#lines.get(key)
    if (!found) {
      found = { labels: known, line: this.#makeLine() }
      this.#lines.set(key, found)
    }
    return found.line
  }

  lines(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly line: Tally | Distribution }> {
    return this.#lines.values()
  }

  async get(): Promise<object> {
    this.#collect?.()
    const values = [...this.#lines.values()].flatMap(({ labels, line }) => this.#valuesOf(labels, line))
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
  }

  reset(): void {
    this.#lines.clear()
  }

  #makeLine(): Tally | Distribution {
    return this.type === 'histogram' ? new Distribution(this.#definition.buckets) : { value: 0 }
  }

  #valuesOf(labels: Readonly<Record<string, string>>, line: Tally | Distribution): readonly Value[] {
    if (!(line instanceof Distribution)) return [{ labels, value: line.value }]
    return [
      ...line
        .cumulated()
        .map(([le, value]) => ({ metricName: `${this.name}_bucket`, labels: { le, ...labels }, value })),
      { metricName: `${this.name}_sum`, labels, value: line.sum },
      { metricName: `${this.name}_count`, labels, value: line.count },
    ]
  }

  #beginAtZero(): void {
    const [first, ...others] = Object.entries(this.#definition.labels)
    if (!first) this.of({})
    else if (this.type !== 'histogram' && others.length === 0 && first[1].length <= BEGINS_AT_ZERO_UP_TO) {
      for (const value of first[1]) this.of({ [first[0]]: value })
    }
  }
}
