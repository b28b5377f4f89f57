import { deviceOf, userOf } from './jid.ts'
import type { LibrarySocket, StanzaNode } from './library.ts'
import type { CachedDevice, StoredState } from './stored-state.ts'

export const NOTIFICATION_EVENT = 'CB:notification'
const DEVICES_TYPE = 'devices'

/**
 * WhatsApp notifies of devices that were linked and unlinked, often by its own id of the person (LID). The library then changes
 * what is cached under that id, but the devices of a person who is written to by number are cached under the number.
 */
export async function changeDevices(
  { socket, state }: { readonly socket: LibrarySocket; readonly state: StoredState },
  { attrs, content }: StanzaNode,
): Promise<void> {
  if (attrs['type'] !== DEVICES_TYPE) return
  const [change] = childrenOf(content)
  if (!change) return
  for (const { attrs: device } of childrenOf(change.content)) {
    const lid = device['jid'] ?? ''
    const jid = lid.endsWith('@lid') ? await socket.signalRepository.lidMapping.getPNForLID(lid) : null
    if (jid) await state.changeDevices(userOf(jid), (devices) => changed(devices, change.tag, deviceOf(lid)))
  }
}

function changed(devices: readonly CachedDevice[], tag: string, device: number): readonly CachedDevice[] | null {
  const others = devices.filter((known) => known.device !== device)
  const [other] = others
  switch (tag) {
    case 'add':
      return other ? [...others, { ...other, device }] : null
    case 'remove':
      return others
    default:
      return null
  }
}

function childrenOf(content: StanzaNode['content']): readonly StanzaNode[] {
  return Array.isArray(content) ? (content as readonly StanzaNode[]) : []
}
