import { Preparation } from '../../src/core/dispatch/lane/preparation.ts'
import { RendezvousAssignment } from '../../src/core/dispatch/workers/assignment.ts'
import { WorkerLease } from '../../src/core/dispatch/workers/lease.ts'
import type { ConnectionId } from '../../src/core/ids.ts'
import type { Sequence } from '../../src/core/message/message.ts'
import type { Channel } from '../../src/core/ports/channel.ts'
import type { Lanes, LaneTransition, LaneTransitionResult } from '../../src/core/ports/lanes.ts'
import { overrideLanes } from '../support/dispatch-world/override-lanes.ts'
import { preferredWorker } from '../support/preferred-worker.ts'
import {
  acceptWhileWaiting,
  cutOften,
  expireOften,
  joinOften,
  keepRecipientsBusy,
  killBeforeTheWire,
  loseAnswers,
  pauseOften,
  restForLong,
  restPerRecipient,
  sendSlowly,
  sendToOne,
  takeOverBusyLanes,
  upload,
  uploadAndCancel,
  uploadAndCut,
  uploadBadly,
} from './aggravations.ts'
import {
  withLazyRetries,
  withLimitsOfLanes,
  withoutPassed,
  withoutReadingBefore,
  withoutTries,
  withRecipientsApart,
  withRecipientsTogether,
  withTwoSwapped,
  withWaitsOfLanes,
  withYoungestFirst,
} from './recipient-breakages.ts'
import { replace } from './replace.ts'
import type { SimulatedStorage } from './simulated-storage.ts'
import type { Breakage } from './simulated-world.ts'

/** Mistakes that a dispatcher or an engine could make. The referee must notice each of them. */
export const BREAKAGES: Readonly<Record<string, Breakage>> = {
  'the worker does not check its own claim before it calls': { patch: withoutSelfCheck, aggravate: pauseOften },
  'a claim that ran out and was renewed counts as unbroken': { patch: withoutTerms, aggravate: cutOften },
  'the epoch of a record is not checked': { lanes: withoutEpochs, aggravate: pauseOften },
  'lanes of living workers are taken too': { lanes: withoutHeartbeats },
  'a lane reads on behind a cursor': { lanes: withCursor },
  'what was accepted here is started whatever waits before it': {
    lanes: withoutOrderCheck,
    aggravate: sendToOne,
  },
  'the second message to a recipient goes before the first': { lanes: withTwoSwapped },
  'only the message that waits steps aside, not the later ones to its recipient': {
    lanes: withRecipientsApart,
    channel: withRecipientsTogether,
    aggravate: keepRecipientsBusy,
  },
  'a message whose wait is over lets younger ones pass': { patch: withLazyRetries, aggravate: keepRecipientsBusy },
  'of the messages whose waits are over the youngest goes first': {
    ...withYoungestFirst(),
    aggravate: sendSlowly,
    breaks: 'I4b',
  },
  'a limit of one recipient holds its lane': {
    channel: withLimitsOfLanes,
    aggravate: restPerRecipient,
    breaks: 'I14',
  },
  'a message that waits for itself holds its lane': { lanes: withWaitsOfLanes, aggravate: keepRecipientsBusy },
  'failed tries are forgotten at a takeover': { lanes: withoutTries, aggravate: takeOverBusyLanes },
  'what comes before an accepted message is not read when its recipient waits': {
    ...withoutReadingBefore(),
    aggravate: acceptWhileWaiting,
  },
  'what was passed over is forgotten': { lanes: withoutPassed, aggravate: keepRecipientsBusy },
  'what may have arrived is simply sent again': { channel: withoutUnknown },
  'an attempt is called before it is committed': { lanes: withoutIntent },
  'an attempt ends and its message is settled in two commits': { lanes: inTwoCommits },
  'a message that is dropped beside a closing attempt is forgotten': {
    lanes: withoutDropBesideClose,
    aggravate: expireOften,
  },
  'a lane is handed over while its call still runs': { lanes: handedOverAtOnce, aggravate: joinOften },
  'a lane that should be another’s is left to it for good': {
    lanes: withAnIdler,
    patch: withoutTimeout,
  },
  'an attempt is opened before its media is uploaded': { channel: uploadingInAttempt, aggravate: upload },
  'a message is sent although its upload failed': { channel: withoutFailedUploads, aggravate: uploadBadly },
  'an upload goes on after its message was cancelled': { patch: withoutUploadChecks, aggravate: uploadAndCancel },
  'an upload does not check the claim': { patch: withoutUploadClaim, aggravate: uploadAndCut },
  'the pace of the network is not asked': { channel: withoutRests, aggravate: upload },
  'the pace of a recipient is not asked': { channel: withoutRests, aggravate: restPerRecipient },
  'an old backlog drains without being asked about': { lanes: withoutConfirmation, aggravate: restForLong },
  'what is proven not sent is called unconfirmed after three crashes': {
    lanes: withoutProof,
    aggravate: killBeforeTheWire,
  },
  'a step whose answer was lost is taken for one of before': { lanes: withoutSecondRead, aggravate: loseAnswers },
}

/** Mistakes on which no promise may depend: the assignment of lanes is only a preference, claims decide. */
export const HARMLESS: Readonly<Record<string, Breakage>> = {
  'every worker believes that each lane is its own': {
    patch: () => replace(RendezvousAssignment.prototype, 'belongsToPeer', { value: () => false }),
    aggravate: joinOften,
  },
  'every worker believes that each lane is another’s': {
    patch: () => replace(RendezvousAssignment.prototype, 'belongsToPeer', { value: () => true }),
    aggravate: joinOften,
  },
  'what a worker believes of a lane changes each time it is asked': { patch: withFickleShares, aggravate: joinOften },
  'a worker lives and takes none of its lanes': { lanes: withAnIdler, aggravate: joinOften },
}

function withoutSelfCheck(): () => void {
  return replace(WorkerLease.prototype, 'isHeld', { value: () => true })
}

function withoutTerms(): () => void {
  return replace(WorkerLease.prototype, 'generation', { get: () => 1 })
}

function withoutTimeout(): () => void {
  return replace(RendezvousAssignment.prototype, 'shouldDefer', {
    value(this: RendezvousAssignment, id: ConnectionId) {
      return this.belongsToPeer(id)
    },
  })
}

function withFickleShares(): () => void {
  let asked = 0
  return replace(RendezvousAssignment.prototype, 'belongsToPeer', {
    value() {
      asked += 1
      return asked % 3 === 0
    },
  })
}

function withoutEpochs(lanes: Lanes, { database }: SimulatedStorage): Lanes {
  const epochOf = database.prepare('select epoch from lane where connection_id = ?')
  return overrideLanes(lanes, {
    record: (step) => lanes.record({ ...step, epoch: epochOf.get(step.connectionId)?.['epoch'] as number }),
  })
}

function withoutHeartbeats(lanes: Lanes, { database }: SimulatedStorage): Lanes {
  const endAll = database.prepare('update worker set heartbeat_until = 0')
  return overrideLanes(lanes, {
    claim: (request) => {
      endAll.run()
      return lanes.claim(request)
    },
  })
}

function withCursor(lanes: Lanes): Lanes {
  const readThrough = new Map<ConnectionId, Sequence>()
  return overrideLanes(lanes, {
    async fetchNext(connectionId, limit, after) {
      const through = readThrough.get(connectionId) ?? 0
      const run = (await lanes.fetchNext(connectionId, limit, after)).filter((message) => message.sequence > through)
      readThrough.set(connectionId, run.at(-1)?.sequence ?? through)
      return run
    },
  })
}

function withoutConfirmation(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async claim(request) {
      const claimed = await lanes.claim(request)
      return claimed.map((lane) => ({ ...lane, policy: { ...lane.policy, confirmBacklogAfterMs: 0 } }))
    },
  })
}

function withoutUnknown(channel: Channel): Channel {
  return {
    ...channel,
    async send(handover, signal, stillHolds) {
      const outcome = await channel.send(handover, signal, stillHolds)
      if (outcome.kind !== 'unknown') return outcome
      const failure = { class: 'transient', code: 'network_error', suspectsNetwork: true, retryAfterMs: null } as const
      return { kind: 'rejected', failure: { ...failure, words: outcome.words } }
    },
  }
}

function uploadingInAttempt(channel: Channel): Channel {
  const prepare = channel.prepare?.bind(channel)
  if (!prepare) return channel
  return {
    ...without(channel, 'prepare'),
    async send(handover, signal, stillHolds) {
      const prepared = handover.media ? await prepare(handover, signal) : null
      if (prepared?.kind === 'failed') return { kind: 'rejected', failure: prepared.failure }
      return channel.send(handover, signal, stillHolds)
    },
  }
}

function withoutFailedUploads(channel: Channel): Channel {
  const prepare = channel.prepare?.bind(channel)
  if (!prepare) return channel
  return { ...channel, prepare: (handover, signal) => prepare(handover, signal).then(() => ({ kind: 'ready' })) }
}

function withoutRests(channel: Channel): Channel {
  return without(channel, 'rateLimitDelayOf')
}

function without(channel: Channel, name: keyof Channel): Channel {
  return Object.fromEntries(Object.entries(channel).filter(([each]) => each !== name)) as unknown as Channel
}

function withoutUploadClaim(): () => void {
  return replace(Preparation.prototype, 'cutIfLeaseLost', { value() {} })
}

function withoutUploadChecks(): () => void {
  return replace(Preparation.prototype, 'check', { value() {} })
}

function withoutOrderCheck(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    record: (step) =>
      lanes.record({ ...step, start: step.start && { sequence: step.start.sequence, number: step.start.number } }),
  })
}

function withoutIntent(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async record(step) {
      const written = lanes.record(step)
      if (!step.start) return written
      written.catch(() => {})
      return { fenced: false, started: true }
    },
  })
}

/** The attempt is closed first, and its message is finalized by a second commit that may never come. */
function inTwoCommits(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async record(step): Promise<LaneTransitionResult> {
      if (step.finish?.disposition.do !== 'finalize') return lanes.record(step)
      const { as, reason, words } = step.finish.disposition
      const close: LaneTransition['finish'] = { ...step.finish, disposition: { do: 'keep-queued', retry: null } }
      const closed = await lanes.record({ ...step, finish: close, start: null, discard: null })
      if (closed.fenced) return closed
      const { sequence } = step.finish.attempt
      await lanes.record({
        ...step,
        finish: null,
        start: null,
        discard: { sequence, as, reason: reason ?? 'channel_fault', words },
      })
      return lanes.record({ ...step, finish: null })
    },
  })
}

function withoutProof(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async record(step) {
      const disposition = step.finish?.disposition
      if (!step.finish || disposition?.do !== 'finalize' || disposition.reason !== 'quarantined')
        return lanes.record(step)
      return lanes.record({ ...step, finish: { ...step.finish, disposition: { ...disposition, as: 'UNCONFIRMED' } } })
    },
  })
}

function withoutDropBesideClose(lanes: Lanes): Lanes {
  return overrideLanes(lanes, { record: (step) => lanes.record(step.finish ? { ...step, discard: null } : step) })
}

/** Lanes that now belong to another worker are released as soon as the worker learns of it, even in the middle of work. */
function handedOverAtOnce(lanes: Lanes): Lanes {
  const epochs = new Map<ConnectionId, number>()
  return overrideLanes(lanes, {
    async claim(request) {
      const claimed = await lanes.claim(request)
      for (const { connectionId, epoch } of claimed) epochs.set(connectionId, epoch)
      return claimed
    },
    async heartbeat(worker, lastsMs) {
      const living = await lanes.heartbeat(worker, lastsMs)
      const held = [...epochs].map(([connectionId, epoch]) => ({ connectionId, epoch }))
      await lanes.release(held.filter(({ connectionId }) => preferredWorker(connectionId, living) !== worker))
      return living
    },
  })
}

/** The first worker renews its lease and never claims a lane. */
function withAnIdler(lanes: Lanes, _: SimulatedStorage, worker: string): Lanes {
  return worker === 'w1' ? overrideLanes(lanes, { claim: () => Promise.resolve([]) }) : lanes
}

/** A fenced reply is believed, although an earlier reply to the same step was lost. */
function withoutSecondRead(lanes: Lanes): Lanes {
  const fenced = new Set<string>()
  const keyOf = ({ connectionId, epoch }: { connectionId: ConnectionId; epoch: number }) => `${connectionId} ${epoch}`
  return overrideLanes(lanes, {
    async record(step) {
      const result = await lanes.record(step)
      if (result.fenced) fenced.add(keyOf(step))
      return result
    },
    inspect: async (lane) => (fenced.has(keyOf(lane)) ? null : lanes.inspect(lane)),
  })
}
