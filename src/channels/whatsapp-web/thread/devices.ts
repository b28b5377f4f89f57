import { userOf } from './jid.ts'
import type { Credentials, Library, LibrarySocket } from './library.ts'
import type { CachedDevice, StoredState } from './stored-state.ts'

/** With this code WhatsApp refuses a message that is for other devices than the recipient has. */
export const WRONG_DEVICES = '479'

export interface DevicesParts {
  readonly library: Library
  readonly socket: LibrarySocket
  readonly state: StoredState
  readonly credentials: Credentials
}

export interface Device {
  readonly jid: string
  readonly user: string
}

/**
 * The devices of a person. None: WhatsApp did not answer. The library could ask as well, but each time it would also take a
 * one-time key of the phone, and replace the encrypted session by a new one.
 */
export async function readDevices(parts: DevicesParts, jid: string): Promise<readonly Device[]> {
  const { library, state, credentials } = parts
  const devices = (await state.readFreshDevices(userOf(jid))) ?? (await askForDevices(parts, jid))
  return (
    devices
      .map(({ user, server, device }) => ({ user, jid: library.jidEncode(user, server, device) }))
      // A notification may have added this device itself.
      .filter((device) => device.jid !== credentials.me?.id && device.jid !== credentials.me?.lid)
  )
}

async function askForDevices(parts: DevicesParts, jid: string): Promise<readonly CachedDevice[]> {
  const { library, socket, state, credentials } = parts
  const { id = '', lid } = credentials.me ?? {}
  const asked = new library.USyncQuery().withContext('message').withDeviceProtocol().withLIDProtocol()
  const answer = await socket.executeUSyncQuery(asked.withUser(new library.USyncUser().withId(jid)))
  const people = answer?.list ?? []
  // The library fetches keys only if it knows both ids of a person.
  const mappings = people.flatMap(({ id: pn, lid }) => (lid ? [{ pn, lid }] : []))
  await socket.signalRepository.lidMapping.storeLIDPNMappings(mappings)
  const devices = library.extractDeviceJids(people, id, lid, false)
  if (devices.length > 0) await state.keepDevices(userOf(jid), devices)
  return devices
}

/** After `WRONG_DEVICES`: the next attempt asks for them, and for new keys of each. */
export async function forgetDevices(parts: Omit<DevicesParts, 'credentials'>, jid: string): Promise<void> {
  const { library, socket, state } = parts
  const { lidMapping } = socket.signalRepository
  const user = userOf(jid)
  const known = (await state.devices.get(user)) ?? []
  const lids = known.map(async (device) => {
    const address = library.jidEncode(device.user, device.server, device.device)
    return (await lidMapping.getLIDForPN(address)) ?? address
  })
  await socket.signalRepository.deleteSession(await Promise.all(lids))
  await state.devices.del(user)
}
