import type { ConnectionView } from '../core/ports/administration.ts'
import type { CallbackAddress } from '../core/ports/connection-service.ts'

const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/

/** Where a network is to send its callbacks; null where it needs none. `publicUrl` without a slash at the end. */
export function callbackAddress(
  publicUrl: string,
  { channel, link, lastReportAt }: Pick<ConnectionView, 'channel' | 'link' | 'lastReportAt'>,
): CallbackAddress | null {
  if (!link?.callbackApp) return null
  const problem = lastReportAt === null ? problemOf(new URL(publicUrl)) : null
  return { url: `${publicUrl}/channels/${channel}/${link.callbackApp}`, problem, lastReportAt }
}

/** Only what can be known without a network request. */
function problemOf({ protocol, hostname }: URL): string | null {
  const remedy = 'Set NUNCIO_PUBLIC_URL to the https address under which this service is reached from outside.'
  if (protocol !== 'https:') return `The network delivers callbacks to https only, and this address is not. ${remedy}`
  if (THIS_MACHINE.test(hostname))
    return `This address means the machine itself, which the network cannot reach. ${remedy}`
  return null
}
