import { useApiQuery } from './queries.ts'

/** Writes a command as a person types it on the machine of the service. */
export function useCommandLine(): (words: TemplateStringsArray) => string {
  const { data } = useApiQuery('readCommandPrefix', {}, { isLive: false })
  return (words) => `${data?.prefix ?? 'nuncio'} ${words.join('')}`
}
