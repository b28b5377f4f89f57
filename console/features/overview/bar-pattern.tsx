import type { Result } from './results.ts'

const SIZE = 8

// Readable without colours: each result has its own pattern, and only published is filled. They are those of `data-fill`.
const STROKES: Readonly<Record<Result, string>> = {
  published: '',
  waiting: 'M0 4H8',
  cancelled: 'M4 0V8',
  unconfirmed: 'M1 2H3M5 6H7',
  expired: 'M0 4H8M4 0V8',
  failed: 'M-2 2L2 -2M0 8L8 0M6 10L10 6',
  refused: 'M-2 6L2 10M0 0L8 8M6 -2L10 2',
}

export function colourOf(result: Result): string {
  return `var(--of-${result})`
}

export function fillOf(result: Result, scope: string): string {
  return STROKES[result] === '' ? colourOf(result) : `url(#${scope}-${result})`
}

/** Put it into the `defs` of the drawing that uses it. */
export function BarPattern({ result, scope }: { readonly result: Result; readonly scope: string }) {
  if (STROKES[result] === '') return null
  return (
    <pattern id={`${scope}-${result}`} width={SIZE} height={SIZE} patternUnits="userSpaceOnUse">
      <rect width={SIZE} height={SIZE} fill={colourOf(result)} fillOpacity={0.2} />
      <path d={STROKES[result]} stroke={colourOf(result)} strokeWidth={2} fill="none" />
    </pattern>
  )
}

/** A square of the pattern, for the legend and the table. */
export function BarSwatch({ result, scope }: { readonly result: Result; readonly scope: string }) {
  return (
    <svg width={16} height={16} aria-hidden="true" focusable="false" style={{ flexShrink: 0 }}>
      <defs>
        <BarPattern result={result} scope={scope} />
      </defs>
      <rect
        x={1}
        y={1}
        width={14}
        height={14}
        rx={2}
        fill={fillOf(result, scope)}
        stroke={colourOf(result)}
        strokeWidth={2}
      />
    </svg>
  )
}
