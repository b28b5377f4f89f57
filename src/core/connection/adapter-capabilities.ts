import { MESSAGE_TYPES, type MessageType } from '../message/message.ts'
import type { Receipt } from '../ports/channel.ts'

/** What the adapter of a bridge connection says that it can do. Stored with the connection when it is checked. */
export interface AdapterCapabilities {
  readonly types: readonly MessageType[]
  readonly maxTextLength: number | null
  readonly maxCaptionLength: number | null
  readonly receipts: readonly Receipt['kind'][]
  readonly evidence: boolean
}

/** Its name among the stored settings of a connection. */
export const STORED_CAPABILITIES = 'capabilities'

type Settings = Readonly<Record<string, unknown>>

/** Null when none are stored, as for a connection of another channel. */
export function storedCapabilities(settings: Settings): AdapterCapabilities | null {
  const found = settings[STORED_CAPABILITIES]
  return typeof found === 'object' && found !== null ? (found as AdapterCapabilities) : null
}

/** Whether the network of a connection reports of each message, and not only that some fail or are read. */
export function reportsArrival(settings: Settings): boolean {
  return storedCapabilities(settings)?.receipts.some((kind) => kind === 'sent' || kind === 'delivered') ?? true
}

/** What differs, for people, such as “the types of messages were text and are text, image”; null when nothing does. */
export function capabilityDifferences(before: AdapterCapabilities, now: AdapterCapabilities): string | null {
  const differences = DESCRIPTIONS.flatMap(([what, describe]) => {
    const [was, is] = [describe(before), describe(now)]
    return was === is ? [] : `the ${what} ${was}, now ${is}`
  })
  return differences.length === 0 ? null : differences.join('; ')
}

const DESCRIPTIONS: readonly (readonly [string, (of: AdapterCapabilities) => string])[] = [
  ['types of messages were', ({ types }) => listed(MESSAGE_TYPES.filter((type) => types.includes(type)).map(typeName))],
  ['reports were', ({ receipts }) => listed([...receipts].toSorted())],
  ['longest text was', ({ maxTextLength }) => lengthText(maxTextLength)],
  ['longest caption was', ({ maxCaptionLength }) => lengthText(maxCaptionLength)],
  ['evidence came', ({ evidence }) => (evidence ? 'from the gateway and the log' : 'from the log')],
]

/** As people call it. */
export function typeName(type: MessageType): string {
  return type === 'message' ? 'text' : type
}

function listed(names: readonly string[]): string {
  return names.join(', ') || 'none'
}

function lengthText(length: number | null): string {
  return length === null ? 'not limited' : `${length} characters`
}
