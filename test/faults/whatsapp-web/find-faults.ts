import assert from 'node:assert/strict'
import type { SentMessage } from '../../support/whatsapp-web/message-intake.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'

/** What the simulator saw of a run. */
interface Seen {
  readonly sent: readonly SentMessage[]
  /** The ids of messages that came again with the same content. */
  readonly repeats: readonly string[]
  /** What phones could not decrypt. */
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

/** What must not happen, however lines break: a good run has none. */
export function findFaults({ sent, repeats, unreadable, complaints }: Seen): readonly string[] {
  const handedOver = takenOf(sent, { isForAll: true })
  // A line that breaks before a device's question is acknowledged brings it once more, and the device the same message.
  const asked = new Set(takenOf(sent, { isForAll: false }))
  return [
    ...handedOver.filter((id, place) => handedOver.indexOf(id) !== place).map((id) => `${id} was handed over twice`),
    ...repeats.filter((id) => !asked.has(id)).map((id) => `${id} came twice to a device that had not asked for it`),
    ...unreadable.map((what) => `could not be decrypted: ${what}`),
    ...complaints,
  ]
}

/** The negative control of a run: with one fault put in, the same data must have faults. */
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

/** The ids of messages that were taken: for all devices of the recipient, or again for one. */
function takenOf(sent: readonly SentMessage[], { isForAll }: { readonly isForAll: boolean }): readonly string[] {
  return sent.filter(({ isTaken, tags }) => isTaken && tags.includes('participants') === isForAll).map(({ id }) => id)
}
