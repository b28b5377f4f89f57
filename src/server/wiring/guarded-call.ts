import type { Settings } from '../../config/read-settings.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import { parseCidrs } from './operator-ranges.ts'

/** What calls adapters. Its code is loaded with the first call, because most installations have none. */
export function guardedCallOf({ bridgeOrigins, outboundDeniedCidrs, dnsServers }: Settings): GuardedCall {
  let opening: Promise<GuardedCall> | null = null
  const open = async () => {
    const { createGuardedCall } = await import('../../media/create-guarded-call.ts')
    return createGuardedCall({
      origins: bridgeOrigins,
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
