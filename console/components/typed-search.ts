import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'

const FIND_AFTER_MS = 250

interface Sought {
  /** In the address of the page. */
  readonly find: string | undefined
  readonly onFind: (find: string | undefined) => void
  /** What is sought when this is typed. */
  readonly read: (typed: string) => string | undefined
}

/** The text of a search field that finds while one types. It follows the address only where that was changed elsewhere. */
export function useTypedSearch({ find, onFind, read }: Sought): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(find ?? '')
  const sent = useRef(find)
  useEffect(() => {
    if (find === sent.current) return
    sent.current = find
    setTyped(find ?? '')
  }, [find])
  const findLater = useDebouncedCallback((words: string) => {
    sent.current = read(words)
    onFind(sent.current)
  }, FIND_AFTER_MS)
  const type = (words: string) => {
    setTyped(words)
    findLater(words)
  }
  return [typed, type]
}
