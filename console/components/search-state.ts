import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'

/** A zod shape, or a lighter equivalent on pages of the first view. It must never throw. */
interface Shape<Value> {
  parse(raw: unknown): Value
}

type Change<Value> = (part: { readonly [Key in keyof Value]?: unknown }, how?: { readonly isStep?: boolean }) => void

/**
 * The view state of a page in its address: filters, tab, open drawer. Values are texts (repeated: a list), so numbers
 * need `z.coerce`. Give every field a `.catch()`, so that an unknown value never breaks the page.
 * `change({ state: undefined })` removes a value from the address; `isStep` makes Back undo the change.
 */
export function useSearchState<Value>(shape: Shape<Value>): [Value, Change<Value>] {
  const raw: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const value = useMemo(() => shape.parse(raw), [shape, raw])
  const change: Change<Value> = useCallback(
    (part, { isStep = false } = {}) =>
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => withoutEmpty({ ...before, ...part }),
        replace: !isStep,
        resetScroll: false,
      } as never),
    [navigate],
  )
  return [value, change]
}

function withoutEmpty(search: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  )
}

/** Plain `?a=1&b=x&b=y`, as people write it; the router's default would put quotes around numbers. */
export function parseSearch(text: string): Record<string, unknown> {
  const search = new URLSearchParams(text)
  return Object.fromEntries(
    [...new Set(search.keys())].map((key) => {
      const values = search.getAll(key)
      return [key, values.length === 1 ? values[0] : values]
    }),
  )
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const text = new URLSearchParams()
  for (const [key, value] of Object.entries(withoutEmpty(search))) {
    for (const single of Array.isArray(value) ? (value as unknown[]) : [value]) text.append(key, String(single))
  }
  return text.size > 0 ? `?${text.toString()}` : ''
}
