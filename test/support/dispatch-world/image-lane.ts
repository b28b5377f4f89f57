import { DEFAULT_LANE_POLICY, type LanePolicy } from '../../../src/core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { Failure, Prepared } from '../../../src/core/ports/channel.ts'
import type { Lanes, LaneTransition } from '../../../src/core/ports/lanes.ts'
import { ANNA } from '../../conformance/storage-world.ts'
import { BOTH, type DispatchWorld, openDispatchWorld, type Upload } from './open-dispatch-world.ts'
import { overrideLanes } from './override-lanes.ts'

/** Anna's lane with images whose files are fetched already. Each upload lasts until the test ends it. */
export async function openImageLane(texts: readonly string[], policy: Partial<LanePolicy> = {}) {
  const world = await openDispatchWorld()
  world.ready = () => null
  const sender = await world.addSenderOf(ANNA, BOTH, policy)
  const ids: Record<string, MessageId> = {}
  for (const text of texts) ids[text] = await world.acceptImage(sender, text)
  return { world, sender, ids: ids as Record<'first' | 'second', MessageId> }
}

export function uploadOf(world: DispatchWorld, text: string): Upload {
  const found = world.uploads.find((each) => each.text === text)
  if (!found) throw new Error(`no upload of ${text}`)
  return found
}

export async function messageWithAttempts(world: DispatchWorld, id: MessageId) {
  const { message, reasonWords, timeline } = await world.storage.administration.explainMessage(id)
  return { message, reasonWords, attempts: timeline.filter(({ kind }) => kind === 'attempt-begun').length }
}

export async function reasonOf(world: DispatchWorld, id: MessageId): Promise<string | null> {
  return (await messageWithAttempts(world, id)).message.reason
}

/** Changes a sender as another process would: this one gets no notification. */
export async function changeSender(
  { storage }: DispatchWorld,
  { connectionId }: { readonly connectionId: ConnectionId },
  change: { readonly policy?: Partial<LanePolicy>; readonly channelSettings?: Record<string, unknown> },
): Promise<void> {
  const policy = { ...DEFAULT_LANE_POLICY, ...change.policy }
  const channelSettings = change.channelSettings ?? {}
  await storage.administration.changeConnection(connectionId, { policy, channelSettings }, 'test')
}

export function failure(kind: Failure['class'], code: Failure['code']): Failure {
  return { class: kind, code, words: 'words of the network', suspectsNetwork: false, retryAfterMs: null }
}

export function failed(kind: Failure['class'], code: Failure['code']): Prepared {
  return { kind: 'failed', failure: failure(kind, code) }
}

/** Records each lane transition in `steps`. */
export function noting({ storage }: DispatchWorld, steps: LaneTransition[]): Lanes {
  return overrideLanes(storage.lanes, {
    record(step) {
      steps.push(step)
      return storage.lanes.record(step)
    },
  })
}
