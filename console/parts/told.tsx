import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { type Line, TOLD } from './tell.ts'

const ToldLines = lazy(() => import('./told-lines.tsx').then(({ ToldLines: Lines }) => ({ default: Lines })))

/** Where lines appear that were told; its code is loaded with the first of them. */
export function Told() {
  const [lines, setLines] = useState<readonly Line[] | null>(null)
  useEffect(() => {
    const onTold = (event: Event) => {
      const { detail } = event as CustomEvent<Line>
      setLines((before) => [...(before ?? []), detail])
    }
    window.addEventListener(TOLD, onTold)
    return () => window.removeEventListener(TOLD, onTold)
  }, [])
  const onShown = useCallback(() => setLines([]), [])
  return lines === null ? null : (
    <Suspense>
      <ToldLines lines={lines} onShown={onShown} />
    </Suspense>
  )
}
