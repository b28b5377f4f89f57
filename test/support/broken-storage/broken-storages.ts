import type { AccountId, ConnectionId, MessageId, WorkerId } from '../../../src/core/ids.ts'
import type { Sequence } from '../../../src/core/message/message.ts'
import type { AcceptResult, Intake } from '../../../src/core/ports/intake.ts'
import type { ClaimedLane, Lanes } from '../../../src/core/ports/lanes.ts'
import type { MediaQueue, MediaToFetch } from '../../../src/core/ports/media-queue.ts'
import type { StorageWorld } from '../../conformance/storage-world.ts'
import { BROKEN_SESSIONS } from './broken-sessions.ts'
import { type Break, over } from './over.ts'

/** Engines that each break one promise. The conformance suite must fail on every one of them. */
export const BROKEN_STORAGES: Readonly<Record<string, Break>> = {
  ...BROKEN_SESSIONS,
  'never finds a recipient who asked to stop': () => ({ blocked: { isBlocked: () => false } }),
  'never learns that a recipient was blocked or unblocked': ({ blocked }) => {
    const known = new Map<string, boolean | Promise<boolean>>()
    return {
      blocked: {
        isBlocked(accountId, recipient) {
          const name = `${accountId} ${recipient}`
          const answer = known.get(name) ?? blocked.isBlocked(accountId, recipient)
          known.set(name, answer)
          return answer
        },
      },
    }
  },
  'blocks a number for every account': ({ blocked }) => {
    const accounts = new Set<AccountId>()
    return {
      blocked: {
        async isBlocked(accountId, recipient) {
          accounts.add(accountId)
          const answers = await Promise.all([...accounts].map(async (each) => blocked.isBlocked(each, recipient)))
          return answers.includes(true)
        },
      },
    }
  },
  'answers before the commit': ({ intake }) => ({
    intake: over(intake, {
      accept: (candidate) => {
        void intake.accept(candidate)
        return Promise.resolve<AcceptResult>({
          kind: 'accepted',
          messageId: 'early' as MessageId,
          connectionId: 'early' as ConnectionId,
          sequence: 1,
        })
      },
    }),
  }),
  'takes an unknown commit for none': ({ intake }) => ({
    intake: over(intake, {
      async accept(candidate) {
        const result = await intake.accept(candidate)
        return result.kind === 'unavailable' ? { kind: 'unavailable', code: 'not_accepted' } : result
      },
    }),
  }),
  'believes the token it looked up before': ({ intake }) => ({
    intake: over(intake, {
      async accept(candidate) {
        const result = await intake.accept(candidate)
        if (result.kind !== 'refused' || result.code !== 'unauthorized') return result
        return { kind: 'accepted', messageId: 'stale' as MessageId, connectionId: 'stale' as ConnectionId, sequence: 1 }
      },
    }),
  }),
  'never hears of the deletion of a token': ({ intake }) => {
    const known = new Map<string, ReturnType<Intake['findToken']>>()
    return {
      intake: over(intake, {
        findToken(sha256) {
          const hex = sha256.toString('hex')
          if (!known.has(hex)) known.set(hex, intake.findToken(sha256))
          return known.get(hex) ?? null
        },
      }),
    }
  },
  'stores a message for each of two equal requests at once': ({ intake }) => ({
    intake: over(intake, { accept: (candidate) => intake.accept({ ...candidate, idempotency: null }) }),
  }),
  'does not compare the bodies under one key': ({ intake }) => ({
    intake: over(intake, {
      accept: (candidate) => {
        const { idempotency } = candidate
        return intake.accept({ ...candidate, idempotency: idempotency && { ...idempotency, fingerprint: 'same' } })
      },
    }),
  }),
  'forgets keys at once': ({ intake }) => ({ intake: over(intake, { namesMessage: () => false }) }),
  'fails a whole batch for one row': ({ intake }) => {
    let batch: Promise<unknown>[] = []
    return {
      intake: over(intake, {
        async accept(candidate) {
          const own = intake.accept(candidate)
          batch.push(own)
          setImmediate(() => {
            batch = []
          })
          const all = await Promise.allSettled(batch)
          if (all.some((result) => result.status === 'rejected')) throw new Error('the batch failed')
          return own
        },
      }),
    }
  },
  'knows no limits': ({ intake }) => ({ intake: over(intake, { isBacklogFull: () => null }) }),
  'gives one lane to two workers': (world) => ({
    lanes: over(world.lanes, { claim: (request) => claimFromAny(world, request) }),
  }),
  'keeps the epoch when a lane changes hands': ({ lanes }) => ({
    lanes: over(lanes, {
      claim: async (request) => (await lanes.claim(request)).map((lane) => ({ ...lane, epoch: 1 })),
    }),
  }),
  'takes lanes that another worker is to take': ({ lanes }) => ({
    lanes: over(lanes, { claim: (request) => lanes.claim({ ...request, shouldDefer: () => false }) }),
  }),
  'asks whether to leave a lane that is not free': ({ lanes }) => {
    const taken = new Set<ConnectionId>()
    return {
      lanes: over(lanes, {
        async claim(request) {
          for (const id of taken) request.shouldDefer(id)
          const claimed = await lanes.claim(request)
          for (const { connectionId } of claimed) taken.add(connectionId)
          return claimed
        },
      }),
    }
  },
  'knows no worker but the one that asks': ({ lanes }) => ({
    lanes: over(lanes, {
      async heartbeat(worker, lastsMs) {
        await lanes.heartbeat(worker, lastsMs)
        return [worker]
      },
    }),
  }),
  'takes the dead for living': ({ lanes }) => {
    const seen = new Set<WorkerId>()
    return {
      lanes: over(lanes, {
        async heartbeat(worker, lastsMs) {
          for (const living of await lanes.heartbeat(worker, lastsMs)) seen.add(living)
          return [...seen]
        },
      }),
    }
  },
  'writes under any epoch': ({ lanes }) => {
    const epochs = new Map<ConnectionId, number>()
    return {
      lanes: over(lanes, {
        async claim(request) {
          const claimed = await lanes.claim(request)
          for (const lane of claimed) epochs.set(lane.connectionId, lane.epoch)
          return claimed
        },
        record: (step) => lanes.record({ ...step, epoch: epochs.get(step.connectionId) ?? step.epoch }),
      }),
    }
  },
  'reads on behind a cursor': ({ lanes }) => {
    const readThrough = new Map<ConnectionId, Sequence>()
    return {
      lanes: over(lanes, {
        async fetchNext(connectionId, limit, after) {
          const run = (await lanes.fetchNext(connectionId, limit, after)).filter(
            ({ sequence }) => sequence > (readThrough.get(connectionId) ?? 0),
          )
          readThrough.set(connectionId, run.at(-1)?.sequence ?? readThrough.get(connectionId) ?? 0)
          return run
        },
      }),
    }
  },
  'starts any message that it is given, whatever waits before it': ({ lanes }) => ({
    lanes: over(lanes, {
      record: (step) =>
        lanes.record({ ...step, start: step.start && { sequence: step.start.sequence, number: step.start.number } }),
    }),
  }),
  'reads a lane from its front, whatever the lane has passed': ({ lanes }) => ({
    lanes: over(lanes, { fetchNext: (connectionId, limit) => lanes.fetchNext(connectionId, limit, 0) }),
  }),
  'forgets the tries of a message that stays queued': ({ lanes }) => ({
    lanes: over(lanes, {
      record(step) {
        const { finish } = step
        if (finish?.disposition.do !== 'keep-queued') return lanes.record(step)
        return lanes.record({ ...step, finish: { ...finish, disposition: { do: 'keep-queued', retry: null } } })
      },
    }),
  }),
  'forgets what other messages wait for': ({ lanes }) => ({
    lanes: over(lanes, { record: ({ deferred: _, ...step }) => lanes.record(step) }),
  }),
  'drops deferred messages from a part that was passed': ({ lanes }) => ({
    lanes: over(lanes, {
      record: (step) =>
        lanes.record({ ...step, passed: step.passed?.map((range) => ({ ...range, deferred: [] })) ?? [] }),
    }),
  }),
  'forgets to drop beside the end of an attempt': ({ lanes }) => ({
    lanes: over(lanes, { record: (step) => lanes.record(step.finish ? { ...step, discard: null } : step) }),
  }),
  'counts no crash': ({ lanes }) => ({
    lanes: over(lanes, {
      claim: async (request) =>
        (await lanes.claim(request)).map((lane) => ({ ...lane, open: lane.open && { ...lane.open, crashes: 0 } })),
    }),
  }),
  'forgets what a lane remembers': ({ lanes }) => ({
    lanes: over(lanes, {
      record: (step) => lanes.record({ ...step, memory: { failureStreak: null, wait: null } }),
    }),
  }),
  'frees a lane whatever its epoch': ({ lanes }) => {
    const latest = new Map<ConnectionId, ClaimedLane>()
    return {
      lanes: over(lanes, {
        async claim(request) {
          const claimed = await lanes.claim(request)
          for (const lane of claimed) latest.set(lane.connectionId, lane)
          return claimed
        },
        release: (released) => lanes.release(released.map((lane) => latest.get(lane.connectionId) ?? lane)),
      }),
    }
  },
  'expires nothing': ({ lanes }) => ({ lanes: over(lanes, { expire: () => Promise.resolve(0) }) }),
  'applies a report while the attempt is open': ({ lanes }) => ({
    lanes: over(lanes, {
      async applyReceipt(receipt) {
        const result = await lanes.applyReceipt(receipt)
        return result === 'too-early' ? 'applied' : result
      },
    }),
  }),
  'wants every file': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, { ready: async (...given) => (await mediaQueue.ready(...given)) || true }),
  }),
  'lets go of files that are still needed': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, {
      releasable: async () => ({ files: await mediaQueue.wantedFiles(0, 100), scannedThrough: null }),
    }),
  }),
  'fetches for messages that are not wanted any more': ({ mediaQueue }) => {
    const seen = new Map<Sequence, MediaToFetch>()
    return {
      mediaQueue: overMedia(mediaQueue, {
        async due(request) {
          const due = await mediaQueue.due(request)
          for (const wanted of due.media) seen.set(wanted.sequence, wanted)
          return due
        },
        take: async (sequences) => sequences.flatMap((sequence) => seen.get(sequence) ?? []),
      }),
    }
  },
  'reads the first accounts only': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, {
      due: async (request) => ({ ...(await mediaQueue.due({ ...request, after: null })), scannedThrough: null }),
    }),
  }),
  'knows no quota': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, {
      due: (request) => mediaQueue.due({ ...request, quotaBytes: Number.MAX_SAFE_INTEGER }),
    }),
  }),
  'takes every head for missing': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, {
      checkHeads: async (sequences) => ({ ...(await mediaQueue.checkHeads(sequences)), present: [] }),
    }),
  }),
  'does not care for lost files': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, { lost: () => Promise.resolve([]) }),
  }),
  'never gives up a file that keeps going missing': ({ mediaQueue }) => ({
    mediaQueue: overMedia(mediaQueue, {
      lost: (files, { at }) => mediaQueue.lost(files, { at, mostTries: Number.MAX_SAFE_INTEGER }),
    }),
  }),
  'records a repeated report again': ({ lanes }) => {
    let brought = 0
    return {
      lanes: over(lanes, { applyReceipt: (receipt) => lanes.applyReceipt({ ...receipt, at: receipt.at + ++brought }) }),
    }
  },
  'applies a report of any connection': ({ lanes }) => {
    const owners = new Map<MessageId, ConnectionId>()
    return {
      lanes: over(lanes, {
        async fetchNext(connectionId, limit, after) {
          const run = await lanes.fetchNext(connectionId, limit, after)
          for (const { id } of run) owners.set(id, connectionId)
          return run
        },
        applyReceipt(receipt) {
          const connectionId = receipt.messageId && owners.get(receipt.messageId)
          return lanes.applyReceipt({ ...receipt, connectionId: connectionId ?? receipt.connectionId })
        },
      }),
    }
  },
  'takes it for the end of a message that an earlier attempt failed': ({ lanes }) => ({
    lanes: over(lanes, { applyReceipt: (receipt) => lanes.applyReceipt({ ...receipt, attemptNumber: null }) }),
  }),
  'forgets what the network calls a message': ({ lanes }) => ({
    lanes: over(lanes, {
      applyReceipt: (receipt) =>
        receipt.messageId === null
          ? Promise.resolve('message-unknown')
          : lanes.applyReceipt({ ...receipt, networkId: null }),
    }),
  }),
  'takes a report that it was sent for one that it arrived': ({ lanes }) => ({
    lanes: over(lanes, {
      applyReceipt: (receipt) =>
        lanes.applyReceipt(receipt.kind === 'sent' ? { ...receipt, kind: 'delivered' } : receipt),
    }),
  }),
  'notifies a channel of a copy that it did not make': (world) => {
    const copies = new Set<MessageId>()
    return {
      async sendAgain(failed) {
        const copy = await world.sendAgain(failed)
        if (copy) copies.add(copy)
        return copy ?? [...copies][0] ?? null
      },
    }
  },
  'sends again for any connection': (world) => ({
    sendAgain: async (failed) =>
      (await world.sendAgain(failed)) ??
      (await world.administration.retryMessage(failed.messageId, 'channel').catch(() => null))?.id ??
      null,
  }),
  'shows a channel the connections of all': (world) => ({
    channelConnections: () => world.channelConnections('whatsapp-cloud'),
  }),
  'forgets removed connections': (world) => ({
    channelConnections(channel) {
      const connections = world.channelConnections(channel)
      return over(connections, {
        ofCallbackApp: async (app) => (await connections.ofCallbackApp(app)).filter(({ isRemoved }) => !isRemoved),
      })
    },
  }),
  'reminds of everything at once': (world) => ({
    channelState(channel) {
      const memory = world.channelState(channel)
      return over(memory, { due: (kind, _, limit) => memory.due(kind, Number.MAX_SAFE_INTEGER, limit) })
    },
  }),
  'reminds of a loud connection alone': (world) => ({
    channelState(channel) {
      const memory = world.channelState(channel)
      return over(memory, { dueByTurns: (kind, now, { limit }) => memory.due(kind, now, limit) })
    },
  }),
  'mixes what channels remember': (world) => {
    const shared = world.channelState('shared')
    return { channelState: () => shared }
  },
}

/** Lets every claim succeed, like an engine that does not check heartbeats. */
async function claimFromAny({ lanes }: StorageWorld, request: Parameters<Lanes['claim']>[0]) {
  for (const other of ['anna', 'ben']) {
    if (other !== request.worker) await lanes.deleteLease(other as Parameters<Lanes['deleteLease']>[0])
  }
  return lanes.claim(request)
}

function overMedia(queue: MediaQueue, changed: Partial<MediaQueue>): MediaQueue {
  return over(queue, changed)
}
