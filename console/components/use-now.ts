import { useEffect, useState } from 'react'
import { useOfflineSince } from './use-live.ts'

const EVERY_MS = 5_000

/** The time. While the service does not answer, that of its last answer: what is on screen has not gone on since. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  const offlineSince = useOfflineSince()
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return offlineSince ?? now
}
