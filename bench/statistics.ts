export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** For 0.5 the median, as the mean of two if needed; otherwise the nearest value from above. 0 for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = share === 0.5 ? (sorted.length - 1) / 2 : Math.ceil(sorted.length * share) - 1
  const low = sorted[Math.max(0, Math.floor(place))] ?? 0
  const high = sorted[Math.max(0, Math.ceil(place))] ?? 0
  return (low + high) / 2
}
