const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** `812 bytes`, `4.2 MB`, `120 GB`. As in the settings, 1 MB is 1,048,576 bytes. */
export function bytesText(bytes: number): string {
  const unit = UNITS.findLastIndex((_, power) => power === 0 || bytes >= 1024 ** power)
  const size = bytes / 1024 ** unit
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit] ?? ''}`
}
