import type { HeldLane } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { LoginTurns } from './login-turns.ts'
import type { Receipts } from './receipts.ts'
import type { StoredSession } from './stored-session.ts'
import type { ThreadHost } from './thread/host.ts'
import type { SocketOptions } from './thread/messages.ts'

interface UnlinkParts {
  readonly host: ThreadHost
  readonly clock: Clock
  readonly receipts: Pick<Receipts, 'keep'>
}

interface FormerParts extends UnlinkParts, Pick<SocketOptions, 'url' | 'version'> {
  readonly logins: Pick<LoginTurns, 'take'>
}

type UnlinkLane = Pick<HeldLane, 'connectionId' | 'stillHolds'>

const WITHIN_MS = 30_000
// The device was unlinked already.
const UNKNOWN_DEVICE = 401

/** The phone lists two devices until the one from before is unlinked. What fails is tried again with the next login. */
export async function unlinkFormer(
  { url, version, logins, ...parts }: FormerParts,
  stored: StoredSession,
  lane: UnlinkLane,
): Promise<void> {
  try {
    const credentials = await stored.readFormer()
    if (credentials === null) return
    const endLogin = await logins.take()
    try {
      if (lane.stillHolds() && (await unlinkDevice(parts, { url, credentials, version }, lane)))
        await stored.forgetFormer()
    } finally {
      endLogin()
    }
  } catch {
    // Storage logs by itself that it is away.
  }
}

/** Logs a device in that is used no more, only to log it out. False when that did not succeed. */
async function unlinkDevice(
  { host, clock, receipts }: UnlinkParts,
  options: SocketOptions,
  { connectionId, stillHolds }: UnlinkLane,
): Promise<boolean> {
  const keys = new Map<string, string>()
  const login = Promise.withResolvers<'ready' | 'gone' | 'failed'>()
  const socket = host.open(options, {
    stillHolds,
    readKeys: async (kind, ids) =>
      ids.flatMap((id) => {
        const text = keys.get(`${kind}/${id}`)
        return text === undefined ? [] : [[id, text] as const]
      }),
    async writeKeys(changes) {
      for (const [kind, id, text] of changes)
        if (text === null) keys.delete(`${kind}/${id}`)
        else keys.set(`${kind}/${id}`, text)
    },
    writeCredentials: async () => {},
    // Receipts for what this device sent. They do not come again once they are acknowledged.
    keepReceipt: (receipt) => receipts.keep(connectionId, receipt),
    findRepeat: async () => null,
    mayRepeat: async () => false,
    mayLeave: () => null,
    changed(change) {
      if (change.kind === 'ready') login.resolve('ready')
      if (change.kind === 'closed') login.resolve(change.code === UNKNOWN_DEVICE ? 'gone' : 'failed')
    },
  })
  const cancel = clock.after(WITHIN_MS, () => login.resolve('failed'))
  const end = await login.promise
  cancel()
  const isLoggedOut = await socket.close({ logsOut: end === 'ready' })
  return isLoggedOut || end === 'gone'
}
