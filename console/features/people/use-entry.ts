import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useCallback } from 'react'
import { CONSOLE_PATH } from '../../app/service-path.ts'

/** Enters the console after signing in: clears all data of the previous person, and opens the page they came for, if any. */
export function useEntry(): () => void {
  const client = useQueryClient()
  const router = useRouter()
  return useCallback(() => {
    client.clear()
    router.history.push(wantedPage(new URLSearchParams(window.location.search).get('to')))
  }, [client, router])
}

/** Only pages of the console, because the address is not trusted. */
function wantedPage(asked: string | null): string {
  const text = asked?.replace(/^"|"$/g, '') ?? ''
  const home = `${CONSOLE_PATH}/`
  const isOurs = text.startsWith(home) && /^(?!sign-in)[^\\]*$/.test(text.slice(home.length))
  return isOurs ? text : home
}
