import { inLocalTime } from './local-times.ts'
import { useTimeDisplay } from './stored-setting.ts'

/** A sentence of the service, with its times by the reader’s clock unless they chose UTC. */
export function Sentence({ text }: { readonly text: string }) {
  const [display] = useTimeDisplay()
  return <>{display === 'utc' ? text : inLocalTime(text, { now: Date.now() })}</>
}
