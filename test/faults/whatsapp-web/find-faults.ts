import assert from 'node:assert/strict'
import type { SentMessage } from '../../support/whatsapp-web/message-intake.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'

/** What the simulator has seen in a run. */
interface Seen {
  readonly sent: readonly SentMessage[]
  /** The ids of messages that were received again with the same content. */
  readonly repeats: readonly string[]
  /** The messages that phones could not decrypt. */
  readonly unreadable: readonly string[]
  readonly complaints: readonly string[]
}

export function readSeen({ messages, phones, complaints }: Simulator): Seen {
  return {
    ...{ sent: messages.sent, repeats: messages.repeats },
    unreadable: [...phones.values()].flatMap((phone) => phone.unreadable),
    complaints: [...complaints],
  }
}

/** Faults that must not happen, however often lines break. A good run has none. */
export function findFaults({ sent, repeats, unreadable, complaints }: Seen): readonly string[] {
  const handedOver = takenOf(sent, { isForAll: true })
  // If a line breaks before the request of a device is acknowledged, the request comes again, and the device gets the message
  // twice.
  const asked = new Set(takenOf(sent, { isForAll: false }))
  return [
    ...handedOver.filter((id, place) => handedOver.indexOf(id) !== place).map((id) => `${id} was handed over twice`),
    ...repeats.filter((id) => !asked.has(id)).map((id) => `${id} came twice to a device that had not asked for it`),
    ...unreadable.map((what) => `could not be decrypted: ${what}`),
    ...complaints,
  ]
}

/** The negative control of a run: with one fault planted, the same data must have faults. */
export function assertFaultsAreFound(seen: Seen): void {
  const message = seen.sent.find(({ isTaken, tags }) => isTaken && tags.includes('participants'))
  assert.ok(message, 'Nothing was taken: the run has shown nothing')
  const broken: readonly Partial<Seen>[] = [
    { sent: [...seen.sent, message] },
    { repeats: [...seen.repeats, 'an id that no device asked for'] },
    { unreadable: ['a message'] },
    { complaints: [...seen.complaints, `a token for ${message.to} was asked for again`] },
  ]
  for (const change of broken)
    assert.equal(findFaults({ ...seen, ...change }).length, 1, `A fault of ${Object.keys(change).join()} is not found`)
}

/** The ids of accepted messages: those for all devices of the recipient, or repeats for one device. */
function takenOf(sent: readonly SentMessage[], { isForAll }: { readonly isForAll: boolean }): readonly string[] {
  return sent.filter(({ isTaken, tags }) => isTaken && tags.includes('participants') === isForAll).map(({ id }) => id)
}
