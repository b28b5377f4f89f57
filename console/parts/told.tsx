import { Suspense, useCallback, useEffect, useState } from 'react'
import { lazily } from './load-later.ts'
import { type Line, TOLD } from './tell.ts'

const ToldLines = lazily(async () => (await import('./told-lines.tsx')).ToldLines)

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
