import type { MessageId } from '../../../src/core/ids.ts'
import type { MediaType, MessageType } from '../../../src/core/message/message.ts'
import type { Channel, Handover, Outcome, Receipt, ReceiptEnd, StillHolds } from '../../../src/core/ports/channel.ts'
import type { ChannelDescription } from '../../../src/core/ports/channel-description.ts'
import { LoadAwareDeadline } from '../../support/black-box/load-aware-deadline.ts'

export interface Given {
  /** Left out: a recipient without any error. */
  readonly to?: string
  readonly text?: string
  /** Left out: a text without an attachment. */
  readonly type?: MediaType
  readonly caption?: string | null
  readonly settings?: Handover['settings']
  readonly attemptNumber?: number
}

/**
 * What the network does to messages for one recipient:
 * - `refuses`: rejects them at once.
 * - `is-away`: answers that it accepts nothing from this connection for now.
 * - `drops-before`, `drops-after`: the connection breaks before or after the message was accepted.
 * - `hangs-before`, `hangs-after`: no answer comes for a long time. The message is accepted late or never, or at once.
 * - `repeats-secrets`: rejects them with words that contain the connection's secrets.
 */
export type NetworkError =
  | 'refuses'
  | 'is-away'
  | 'drops-before'
  | 'drops-after'
  | 'hangs-before'
  | 'hangs-after'
  | 'repeats-secrets'

/** What a recipient has received. */
interface Arrived {
  readonly to: string
  readonly type: MessageType
  /** The text or the caption; null if there is none. */
  readonly text: string | null
  /** Null if the network shows no name. */
  readonly name: string | null
  /** Of the attachment, as hexadecimal digits; null for a text. */
  readonly sha256: string | null
}

/** A channel with one connection, the network behind it, and what the suite needs around them. */
export interface ChannelWorld {
  /** The channel, started. */
  readonly channel: Channel
  readonly description: ChannelDescription
  /** All settings as a person would write them. They are valid. */
  readonly pairs: Readonly<Record<string, string>>
  /** What must never be visible outside of the stored settings. */
  readonly secrets: readonly string[]
  /** A message as a lane hands it over, with its attachment in the spool and the stored settings of the connection. */
  handover(given?: Given): Promise<Handover>
  /** The started channel of another worker, on the same storage and network. */
  startAnother(): Promise<Channel>
  /** A channel that is not started yet. */
  create(): Channel
  /** A recipient with this error; null if the network cannot cause it. */
  recipientWhen(error: NetworkError): string | null
  /** What recipients have received, in order of arrival. */
  arrived(): Promise<readonly Arrived[]>
  /** What the channels have reported. */
  readonly receipts: readonly Receipt[]
  /** The result of their reports. `too-early` stands for an attempt that is still open. */
  receiptEnd: ReceiptEnd
  /** Makes storage fail until the returned function is called. */
  loseStorage(): () => void
  /** Brings in reports that are not from this network, or not about its connections. Absent if a channel receives none. */
  bringForeignReports?(messageId: MessageId): Promise<void>
  close(): Promise<void>
}

/** Changes each channel of a world, to see that the suite notices it. */
export type Altering = (channel: Channel, world: () => ChannelWorld) => Channel

export type NewChannelWorld = () => Promise<ChannelWorld>

/** The functions with which a suite is written: the test runner's, or those of a collector that runs it elsewhere. */
export interface Suite {
  readonly it: (name: string, prove: () => Promise<void>) => void
}

/** One promise, proven in its own world. */
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

/** Sends a message as a lane does: prepares it, then hands it over once. */
export async function sendBy(channel: Channel, handover: Handover, given: Partial<SendGiven> = {}): Promise<Outcome> {
  const { signal = new AbortController().signal, stillHolds = () => true } = given
  if (handover.media) await channel.prepare?.(handover, signal)
  return channel.send(handover, signal, stillHolds)
}

interface SendGiven {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

/** Null if it took longer. */
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

/** Polls a condition. False if it does not become true in time. */
export async function becomes(ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = new LoadAwareDeadline(ms)
  while (!(await isSo())) {
    if (deadline.isOver()) return false
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}
