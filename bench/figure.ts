import type { EngineName } from './engine.ts'

/** The figure that must be reached. */
export type Reach = { readonly atLeast: number } | { readonly atMost: number }

/** One thing that was measured. */
export interface Figure {
  /** The option `--only` takes. */
  readonly part: string
  readonly name: string
  /** The median of `rounds`, or a figure made of such medians. */
  readonly value: number
  readonly unit: string
  /** Null where nothing is asked for. */
  readonly reach: Reach | null
  readonly rounds: readonly number[]
  /** What a reader needs to understand it. */
  readonly note: string
}

/** Null: it says nothing of one engine alone. */
export type PlacedFigure = Figure & { readonly engine: EngineName | null }

export function isReached({ value, reach }: Figure): boolean | null {
  if (!reach) return null
  return 'atLeast' in reach ? value >= reach.atLeast : value <= reach.atMost
}

/** Four figures that matter, and thousands parted. */
export function formatNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

export function formatReach(reach: Reach | null): string {
  if (!reach) return ''
  return 'atLeast' in reach ? `≥ ${formatNumber(reach.atLeast)}` : `≤ ${formatNumber(reach.atMost)}`
}
