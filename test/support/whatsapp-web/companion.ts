import { type BinaryNode, SERVER, secondsNow } from './binary-node.ts'
import type { WhatsAppLibrary } from './library.ts'
import type { LinkedDevice, Phone } from './phone.ts'

const KEY_TYPE = Buffer.from([5])

/** A further device that senders must encrypt for. It has keys and reads nothing. */
export function newCompanion(library: WhatsAppLibrary, id: number): LinkedDevice {
  const [identity, signed, noise] = [0, 0, 0].map(() => library.Curve.generateKeyPair())
  if (!identity || !signed || !noise) throw new Error('keys are missing')
  const value = Buffer.from(signed.public)
  return {
    id,
    noise: Buffer.from(noise.public),
    identity: Buffer.from(identity.public),
    registrationId: id,
    signedPreKey: { id: 1, value, signature: library.Curve.sign(identity.private, Buffer.concat([KEY_TYPE, value])) },
    preKeys: [],
    preKeyIds: new Set(),
    unacknowledged: [],
  }
}

/** Notifies a device that another one was linked to a number, or unlinked. */
export function deviceNotification(
  change: 'add' | 'remove',
  phone: Phone,
  { deviceId, id, isByLid = false }: { deviceId: number; id: string; isByLid?: boolean },
): BinaryNode {
  const device = {
    tag: 'device',
    attrs: {
      jid: isByLid ? `${phone.lidUser}:${deviceId}@lid` : `${phone.number}:${deviceId}@${SERVER}`,
      'key-index': String(deviceId),
    },
  }
  return {
    tag: 'notification',
    attrs: { from: isByLid ? phone.lid : phone.jid, type: 'devices', id, t: secondsNow() },
    content: [{ tag: change, attrs: { device_hash: '2:simulated' }, content: [device] }],
  }
}

/** Brings a device the token of a person who trusts its number. */
export function tokenNotification(
  from: string,
  { id, token }: { readonly id: string; readonly token: Buffer },
): BinaryNode {
  const given = { tag: 'token', attrs: { type: 'trusted_contact', t: secondsNow() }, content: token }
  return {
    tag: 'notification',
    attrs: { from, type: 'privacy_token', id, t: secondsNow() },
    content: [{ tag: 'tokens', attrs: {}, content: [given] }],
  }
}
