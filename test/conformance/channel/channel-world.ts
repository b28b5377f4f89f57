import type { MessageId } from '../../../src/core/ids.ts'
import type { MediaType, MessageType } from '../../../src/core/message/message.ts'
import type { Channel, Handover, Outcome, Receipt, ReceiptEnd, StillHolds } from '../../../src/core/ports/channel.ts'
import type { ChannelDescription } from '../../../src/core/ports/channel-description.ts'
import { LoadAwareDeadline } from '../../support/black-box/load-aware-deadline.ts'

export interface Given {
  /** A recipient without any error. */
  readonly to?: string
  readonly text?: string
  /** A text without. */
  readonly type?: MediaType
  readonly caption?: string | null
  readonly settings?: Handover['settings']
  readonly attemptNumber?: number
}

/**
 * What the network does to messages for one recipient:
 * - `refuses`: says at once that it does not take them.
 * - `is-away`: takes nothing from this connection for now, and says so.
 * - `drops-before`, `drops-after`: the line breaks, before or after the message was taken.
 * - `hangs-before`, `hangs-after`: no answer comes for a long time, and the message is taken late or never, or at once.
 * - `repeats-secrets`: refuses, and its words have the connection's secrets in them.
 */
export type NetworkError =
  | 'refuses'
  | 'is-away'
  | 'drops-before'
  | 'drops-after'
  | 'hangs-before'
  | 'hangs-after'
  | 'repeats-secrets'

/** What a recipient has. */
interface Arrived {
  readonly to: string
  readonly type: MessageType
  /** The text, or the caption; null for none. */
  readonly text: string | null
  /** Null where the network shows none. */
  readonly name: string | null
  /** Of the attachment, in hexadecimal; null for text. */
  readonly sha256: string | null
}

/** A channel, the network behind it, and what the suite needs around them. One connection. */
export interface ChannelWorld {
  /** Started. */
  readonly channel: Channel
  readonly description: ChannelDescription
  /** Each setting that there is, as a person would write it; they work. */
  readonly pairs: Readonly<Record<string, string>>
  /** What must never be seen outside of the stored settings. */
  readonly secrets: readonly string[]
  /** A message as a lane hands it over, its attachment in the spool. The settings are the connection's, as they are stored. */
  handover(given?: Given): Promise<Handover>
  /** Another worker's, on the same storage and network. Started. */
  startAnother(): Promise<Channel>
  /** One that is not started yet. */
  create(): Channel
  /** A recipient with this error; null where the network cannot be made to cause it. */
  recipientWhen(error: NetworkError): string | null
  /** In the order of arrival. */
  arrived(): Promise<readonly Arrived[]>
  /** What the channels have reported. */
  readonly receipts: readonly Receipt[]
  /** What their reports come to. `too-early` at first would be an attempt that is still open. */
  receiptEnd: ReceiptEnd
  /** Storage fails from now on, until the returned function is called. */
  loseStorage(): () => void
  /** Reports that are not of this network, or not about its connections, come in. Absent where nothing can. */
  bringForeignReports?(messageId: MessageId): Promise<void>
  close(): Promise<void>
}

/** Makes something else of each channel of a world, to see that the suite notices. */
export type Altering = (channel: Channel, world: () => ChannelWorld) => Channel

export type NewChannelWorld = () => Promise<ChannelWorld>

/** What the suite is written down with: of the test runner, or of a collector that runs it elsewhere. */
export interface Suite {
  readonly it: (name: string, prove: () => Promise<void>) => void
}

/** One promise, proven in a world of its own. */
type Promising<World> = (name: string, prove: (world: World) => Promise<void>) => void

export function promisingIn<World extends ChannelWorld>(
  { it }: Suite,
  newWorld: () => Promise<World>,
): Promising<World> {
  return (name, prove) =>
    it(name, async () => {
      const world = await newWorld()
      try {
        await prove(world)
      } finally {
        await world.close()
      }
    })
}

/** As a lane does it: got ready, then handed over once. */
export async function sendBy(channel: Channel, handover: Handover, given: Partial<SendGiven> = {}): Promise<Outcome> {
  const { signal = new AbortController().signal, stillHolds = () => true } = given
  if (handover.media) await channel.prepare?.(handover, signal)
  return channel.send(handover, signal, stillHolds)
}

interface SendGiven {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

/** Null when it took longer. */
export async function within<Result>(ms: number, running: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  return Promise.race([running, over]).finally(() => clearTimeout(timer))
}

export async function hasArrived(world: Pick<ChannelWorld, 'arrived'>, to: string): Promise<boolean> {
  return (await world.arrived()).some((each) => each.to === to)
}

/** Polls a condition; false when it does not become true in time. */
export async function becomes(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = new LoadAwareDeadline(ms)
  while (!(await isSo())) {
    if (deadline.isOver()) return false
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}
