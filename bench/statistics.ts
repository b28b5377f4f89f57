export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** The middle one or the mean of the two beside it for 0.5; otherwise the nearest from above. 0 of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = share === 0.5 ? (sorted.length - 1) / 2 : Math.ceil(sorted.length * share) - 1
  const low = sorted[Math.max(0, Math.floor(place))] ?? 0
  const high = sorted[Math.max(0, Math.ceil(place))] ?? 0
  return (low + high) / 2
}
