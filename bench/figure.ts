import type { EngineName } from './engine.ts'

/** The value that the figure must reach. */
export type Reach = { readonly atLeast: number } | { readonly atMost: number }

/** One measured figure. */
export interface Figure {
  /** The name for the option `--only`. */
  readonly part: string
  readonly name: string
  /** The median of `rounds`, or a value computed from such medians. */
  readonly value: number
  readonly unit: string
  /** Null if there is no requirement. */
  readonly reach: Reach | null
  readonly rounds: readonly number[]
  /** What a reader needs to understand it. */
  readonly note: string
}

/** Null: the figure is not about one engine. */
export type PlacedFigure = Figure & { readonly engine: EngineName | null }

export function isReached({ value, reach }: Figure): boolean | null {
  if (!reach) return null
  return 'atLeast' in reach ? value >= reach.atLeast : value <= reach.atMost
}

/** Four significant digits, with separated thousands. */
export function formatNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export function formatReach(reach: Reach | null): string {
  if (!reach) return ''
  return 'atLeast' in reach ? `≥ ${formatNumber(reach.atLeast)}` : `≤ ${formatNumber(reach.atMost)}`
}
