import type { Settings } from '../../config/read-settings.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import { parseCidrs } from './operator-ranges.ts'

/** What calls adapters, and hosts for files. Its code is loaded with the first call, because most installations make none. */
export function guardedCallOf(
  { bridgeOrigins, outboundDeniedCidrs, dnsServers }: Settings,
  { isLoopbackOpened = false } = {},
): GuardedCall {
  let opening: Promise<GuardedCall> | null = null
  const open = async () => {
    const { createGuardedCall } = await import('../../media/create-guarded-call.ts')
    return createGuardedCall({
      origins: bridgeOrigins,
      isLoopbackOpened,
      refused: parseCidrs(outboundDeniedCidrs),
      dnsServers: dnsServers.length > 0 ? dnsServers : null,
    })
  }
  return {
    async call(wanted, limits) {
      opening ??= open()
      return (await opening).call(wanted, limits)
    },
  }
}
