import { Resolver } from 'node:dns/promises'
import { durationText } from '../format/durations.ts'
import { MediaProblem, quote } from './media-problem.ts'

/** All addresses of a name. Throws a `MediaProblem` when there are none or no server answered in time. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly string[]>

interface NameServers {
  /** Such as `9.9.9.9` or `127.0.0.1:5353`; null means those of the system. */
  readonly servers: readonly string[] | null
  readonly timeoutMs: number
}

/**
 * Asks DNS servers directly instead of the system's resolver, which would also read the hosts file and try the local
 * domain, and so find internal machines under foreign names. Answers are not cached.
 */
export function createNameResolver({ servers, timeoutMs }: NameServers): ResolveName {
  return async (name, signal) => {
    signal.throwIfAborted()
    // One resolver for each look-up, so that the end of this fetch cancels only its own queries. It also reads the
    // system's servers again, which may have changed since the process started.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs * 0.4), tries: 2 })
    if (servers) resolver.setServers([...servers])
    const cancel = () => resolver.cancel()
    const timer = setTimeout(cancel, timeoutMs)
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      signal.throwIfAborted()
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (addresses.length === 0) throw explain(name, answers.map(codeOf), timeoutMs)
      return addresses
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
    }
  }
}

function codeOf(answer: PromiseSettledResult<readonly string[]>): string {
  if (answer.status === 'fulfilled') return 'ENODATA'
  const { code } = answer.reason as { code?: unknown }
  return typeof code === 'string' ? code : 'unknown'
}

function explain(name: string, codes: readonly string[], timeoutMs: number): MediaProblem {
  const saw = (...wanted: readonly string[]) => codes.some((code) => wanted.includes(code))
  if (saw('ENOTFOUND')) return new MediaProblem('media_dns', `The name ${quote(name)} does not exist.`)
  if (saw('ETIMEOUT', 'ECANCELLED')) {
    return new MediaProblem(
      'media_dns',
      `No DNS server answered for the name ${quote(name)} within ${durationText(timeoutMs)}.`,
    )
  }
  if (saw('EBADNAME')) return new MediaProblem('media_dns', `${quote(name)} is not a valid name.`, { mayPass: false })
  if (codes.every((code) => code === 'ENODATA'))
    return new MediaProblem('media_dns', `The name ${quote(name)} has no address.`)
  return new MediaProblem('media_dns', `The name ${quote(name)} could not be looked up (${codes.join(', ')}).`)
}
