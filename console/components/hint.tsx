import { type ReactNode, type RefObject, Suspense, useEffect, useRef, useState } from 'react'
import { lazily } from './load-later.ts'

// The code that places tooltips is a tenth of the first view's script, and most visits need no tooltip.
const Tooltip = lazily(async () => (await import('./tooltip.tsx')).Tooltip)

interface Spot<Element extends HTMLElement> {
  readonly ref: RefObject<Element | null>
  readonly onPointerEnter: () => void
  readonly onPointerLeave: () => void
  readonly onFocus: () => void
  readonly onBlur: () => void
}

interface HintProps<Element extends HTMLElement> {
  readonly label: ReactNode
  /** Renders the element that the hint describes, with the given properties. */
  readonly children: (spot: Spot<Element>) => ReactNode
}

/** A tooltip on hover and on focus; Esc hides it. Only for optional texts, because touch screens do not show it. */
export function Hint<Element extends HTMLElement = HTMLElement>({ label, children }: HintProps<Element>) {
  const ref = useRef<Element>(null)
  const [isShown, setShown] = useState(false)
  const [isWanted, setWanted] = useState(false)
  const show = () => {
    setWanted(true)
    setShown(true)
  }
  const hide = () => setShown(false)
  useEffect(() => {
    if (!isShown) return
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && setShown(false)
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isShown])
  return (
    <>
      {children({ ref, onPointerEnter: show, onPointerLeave: hide, onFocus: show, onBlur: hide })}
      {isWanted ? (
        <Suspense>
          <Tooltip target={ref} opened={isShown} label={label} />
        </Suspense>
      ) : null}
    </>
  )
}
