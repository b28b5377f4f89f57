import type { ConnectionId, MessageId } from '../../src/core/ids.ts'
import { MESSAGE_TYPES } from '../../src/core/message/message.ts'
import type {
  Channel,
  Evidence,
  Failure,
  Handover,
  OpenQuestion,
  Outcome,
  Receipt,
} from '../../src/core/ports/channel.ts'
import type { Random } from './random.ts'
import type { Schedule } from './schedule.ts'
import type { SimulatedMachine } from './simulated-machine.ts'
import type { SimulatedUploads } from './simulated-uploads.ts'

/** The properties of a network. Its evidence is always true, but may come late or never. */
export interface NetworkKind {
  readonly name: string
  readonly recognisesRepeat: boolean
  readonly evidence: 'none' | 'prompt' | 'late' | 'mute'
  /** Attachments must be uploaded before their message. */
  readonly uploads: boolean
  /** Sometimes it sets a pause in which it accepts no messages. */
  readonly rests: boolean
}

const PLAIN = { uploads: false, rests: false }
const CAREFUL = { recognisesRepeat: false, uploads: true, rests: true }

export const NETWORKS: readonly NetworkKind[] = [
  { name: 'plain', recognisesRepeat: false, evidence: 'none', ...PLAIN },
  { name: 'prompt', recognisesRepeat: false, evidence: 'prompt', ...PLAIN },
  { name: 'late', recognisesRepeat: false, evidence: 'late', ...PLAIN },
  { name: 'mute', recognisesRepeat: false, evidence: 'mute', ...PLAIN },
  { name: 'repeats', recognisesRepeat: true, evidence: 'none', ...PLAIN },
]
export const UPLOADING_NETWORKS: readonly NetworkKind[] = [
  { name: 'uploads', evidence: 'prompt', ...CAREFUL },
  { name: 'uploads, late', evidence: 'late', ...CAREFUL },
  { name: 'uploads, mute', evidence: 'mute', ...CAREFUL },
]

export type CallResult =
  | 'accepts'
  | 'answer-lost'
  | 'lost'
  | 'busy'
  | 'away'
  | 'unreachable'
  | 'hangs'
  | 'hangs-then-acts'
  | 'slow'

/** One call of a worker, as the network and the referee see it. */
export interface NetworkCall {
  readonly handover: Handover
  readonly machine: SimulatedMachine
  readonly startedAt: number
  readonly pausesBefore: number
  /** The worker was stopped between its last check of the claim and the call. */
  readonly frozen: boolean
  /** The message was sent. */
  left: boolean
  /** The reply has reached the worker, or the worker has given the call up. */
  ended: boolean
  /** The call can have no further effect. */
  isOver: boolean
  effectAt: number | null
}

interface Effect {
  readonly messageId: MessageId
  readonly networkId: string
  readonly attemptNumber: number
  refusedLater: boolean
}

/** How often the network fails. Only `accepts` is left after the faults have stopped. */
export interface NetworkFaults {
  weights: Readonly<Partial<Record<CallResult, number>>>
  /** How often a call finds its recipient busy, for a while. */
  busyRecipients: number
  freezes: number
  reports: number
}

interface NetworkParts {
  readonly schedule: Schedule
  readonly random: Random
  readonly faults: NetworkFaults
  readonly uploads: SimulatedUploads
  readonly onCall: (call: NetworkCall, kind: NetworkKind) => void
  readonly onEffect: (call: NetworkCall, kind: NetworkKind) => void
  readonly onReceipt: (receipt: Receipt) => void
  readonly note: (who: string, what: string) => void
  readonly nameOf: (id: MessageId) => string
  readonly hasFrozenWorkers: () => boolean
}

const NO_WEIGHTS: Readonly<Record<CallResult, number>> = {
  accepts: 1,
  'answer-lost': 0,
  lost: 0,
  busy: 0,
  away: 0,
  unreachable: 0,
  hangs: 0,
  'hangs-then-acts': 0,
  slow: 0,
}

const CALL_BUDGET_MS = 10_000
const EVIDENCE_WAIT_MS = 20_000
export const BAD_RECIPIENT = '15550009666'

/** All networks of a simulated world. A message that reached them continues, whatever happens to its worker. */
export class SimulatedNetwork {
  readonly #parts: NetworkParts
  readonly calls: NetworkCall[] = []
  readonly effects = new Map<MessageId, Effect[]>()
  readonly #busyUntil = new Map<string, number>()
  #accepted = 0

  constructor(parts: NetworkParts) {
    this.#parts = parts
  }

  /** The channels of one worker. */
  channelsFor(machine: SimulatedMachine): ReadonlyMap<string, Channel> {
    return new Map([...NETWORKS, ...UPLOADING_NETWORKS].map((kind) => [kind.name, this.#channel(kind, machine)]))
  }

  callsOf(connectionId: ConnectionId): readonly NetworkCall[] {
    return this.calls.filter((call) => call.handover.connectionId === connectionId)
  }

  #channel(kind: NetworkKind, machine: SimulatedMachine): Channel {
    return {
      name: kind.name,
      capabilities: {
        types: MESSAGE_TYPES,
        maxTextLength: null,
        maxCaptionLength: null,
        recognisesRepeat: kind.recognisesRepeat,
        evidenceWaitMs: kind.evidence === 'none' ? 0 : EVIDENCE_WAIT_MS,
        callBudgetMs: CALL_BUDGET_MS,
      },
      parseSettings: () => ({}),
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      send: (handover, signal) => this.#send(kind, { handover, machine }, signal),
      reconcile: (open) => this.#reconcile(kind, machine, open),
      ...(kind.uploads && { prepare: (handover, signal) => this.#parts.uploads.prepare(machine, handover, signal) }),
      ...(kind.rests && {
        rateLimitDelayOf: (next, now) => this.#parts.uploads.rateLimitDelayOf(machine, next, now),
      }),
    }
  }

  #send(
    kind: NetworkKind,
    from: { handover: Handover; machine: SimulatedMachine },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { schedule, random, faults, note, nameOf } = this.#parts
    const { handover, machine } = from
    const call: NetworkCall = {
      handover,
      machine,
      startedAt: schedule.now,
      pausesBefore: machine.pauses,
      frozen: random.chance(faults.freezes),
      left: false,
      ended: false,
      isOver: false,
      effectAt: null,
    }
    this.#parts.onCall(call, kind)
    this.calls.push(call)
    note(
      machine.name,
      `calls ${handover.connectionId} ${nameOf(handover.messageId)} #${handover.attemptNumber}${call.frozen ? ', frozen before the wire' : ''}`,
    )
    if (call.frozen) machine.pause(random.between(1_000, 60_000), random.chance(0.5))
    return new Promise<Outcome>((resolve) => {
      const answer = (outcome: Outcome) =>
        machine.deliver(() => {
          call.ended = true
          resolve(outcome)
        })
      signal.addEventListener('abort', () => {
        call.ended = true
        // A channel that ignores the signal is left to the dispatcher's timeout.
        if (random.chance(0.5))
          schedule.after(random.between(0, 500), () =>
            answer({ kind: 'unknown', words: 'aborted after the first byte' }),
          )
      })
      machine.deliver(() => {
        call.left = true
        schedule.after(random.between(1, 40), () => this.#arrive(kind, call, answer))
      })
    })
  }

  #arrive(kind: NetworkKind, call: NetworkCall, answer: (outcome: Outcome) => void): void {
    const { schedule, random, faults, note, nameOf } = this.#parts
    const { handover } = call
    const result = this.#isBusy(handover)
      ? 'busy'
      : random.weighed<CallResult>({ ...NO_WEIGHTS, ...faults.weights, accepts: 1 })
    if (result !== 'accepts') note('network', `${nameOf(handover.messageId)} #${handover.attemptNumber}: ${result}`)
    const unknown = () =>
      schedule.after(random.between(1, 3_000), () => answer({ kind: 'unknown', words: 'reset after the first byte' }))
    const act = (then: (outcome: Outcome) => void) => then(this.#act(kind, call))
    switch (result) {
      case 'accepts':
        act((outcome) => schedule.after(random.between(1, 60), () => answer(outcome)))
        return
      case 'answer-lost':
        act(unknown)
        return
      case 'slow':
        schedule.after(random.between(200, 15_000), () => act(answer))
        return
      case 'hangs-then-acts':
        schedule.after(random.between(200, 60_000), () => act(() => {}))
        return
      case 'lost':
      case 'hangs':
        call.isOver = true
        if (result === 'lost') unknown()
        return
      case 'busy':
      case 'away':
      case 'unreachable':
        call.isOver = true
        schedule.after(random.between(1, 60), () => answer({ kind: 'rejected', failure: this.#failure(result) }))
    }
  }

  #isBusy({ connectionId, to }: Handover): boolean {
    const { schedule, random, faults } = this.#parts
    if (faults.busyRecipients === 0) return false
    const key = `${connectionId} ${to}`
    if (random.chance(faults.busyRecipients)) this.#busyUntil.set(key, schedule.now + random.between(500, 120_000))
    return (this.#busyUntil.get(key) ?? 0) > schedule.now
  }

  /** The message is sent to its recipient, or refused for good. */
  #act(kind: NetworkKind, call: NetworkCall): Outcome {
    const { schedule, onEffect, note, nameOf } = this.#parts
    const { messageId, to, attemptNumber } = call.handover
    call.isOver = true
    const before = this.effects.get(messageId) ?? []
    const known = before[0]
    if (known && kind.recognisesRepeat) return { kind: 'accepted', networkId: known.networkId }
    if (to === BAD_RECIPIENT) return { kind: 'rejected', failure: failureOf('permanent', 'recipient_refused', null) }
    this.#accepted += 1
    const effect: Effect = { messageId, networkId: `net-${this.#accepted}`, attemptNumber, refusedLater: false }
    this.effects.set(messageId, [...before, effect])
    call.effectAt = schedule.now
    note('network', `took ${nameOf(messageId)} #${attemptNumber} from ${call.machine.name}`)
    onEffect(call, kind)
    if (kind.rests) this.#parts.uploads.count(call.handover)
    this.#planReceipt(effect, {
      connectionId: call.handover.connectionId,
      // A network that recognises repeats cannot say which of the attempts failed.
      attemptNumber: kind.recognisesRepeat ? null : attemptNumber,
    })
    return { kind: 'accepted', networkId: effect.networkId }
  }

  #failure(result: 'busy' | 'away' | 'unreachable'): Failure {
    const { random } = this.#parts
    const retryAfterMs = random.pick([null, null, 0, 500, 4_000, 45_000])
    switch (result) {
      case 'busy':
        return { ...failureOf('transient', 'busy', retryAfterMs), suspectsNetwork: random.chance(0.3) }
      case 'away':
        return failureOf(
          'connection',
          random.pick(['connection_away', 'rate_limited', 'credentials_refused']),
          retryAfterMs,
        )
      case 'unreachable':
        return { ...failureOf('transient', 'network_error', null), suspectsNetwork: true }
    }
  }

  #planReceipt(effect: Effect, about: Pick<Receipt, 'connectionId' | 'attemptNumber'>): void {
    const { schedule, random, faults, onReceipt } = this.#parts
    if (!random.chance(faults.reports)) return
    const kind = random.pick(['delivered', 'read', 'failed'] as const)
    schedule.after(random.between(0, 20_000), () => {
      effect.refusedLater = kind === 'failed'
      onReceipt({
        ...about,
        messageId: effect.messageId,
        networkId: effect.networkId,
        kind,
        at: schedule.now,
        code: kind === 'failed' ? 'refused_later' : null,
        words: null,
      })
    })
  }

  #reconcile(kind: NetworkKind, machine: SimulatedMachine, open: OpenQuestion): Promise<Evidence> {
    const { schedule, random, note, nameOf } = this.#parts
    return new Promise((resolve) => {
      schedule.after(random.between(1, 50), () => {
        const evidence = this.#evidence(kind, open)
        note(machine.name, `asks about ${nameOf(open.messageId)} #${open.attemptNumber}: ${evidence.kind}`)
        schedule.after(random.between(1, 50), () => machine.deliver(() => resolve(evidence)))
      })
    })
  }

  #evidence(kind: NetworkKind, { messageId, attemptNumber }: OpenQuestion): Evidence {
    const { schedule, random, hasFrozenWorkers } = this.#parts
    if (kind.evidence === 'none') return { kind: 'nothing-ever' }
    if (kind.evidence === 'mute') return { kind: 'nothing-yet' }
    const call = this.calls.find(
      (each) => each.handover.messageId === messageId && each.handover.attemptNumber === attemptNumber,
    )
    if (call?.effectAt != null) {
      if (kind.evidence === 'late' && schedule.now < call.effectAt + random.between(2_000, 30_000))
        return { kind: 'nothing-yet' }
      const effect = this.effects.get(messageId)?.find((each) => each.attemptNumber === attemptNumber)
      return { kind: 'accepted', networkId: effect?.networkId ?? 'net-?' }
    }
    // A network may report a message as not sent only if it cannot be sent later.
    const cannotCome = call ? call.isOver || (!call.left && call.machine.isDead) : !hasFrozenWorkers()
    return cannotCome ? { kind: 'not-sent', words: 'no trace of it' } : { kind: 'nothing-yet' }
  }
}

function failureOf(kind: Failure['class'], code: Failure['code'], retryAfterMs: number | null): Failure {
  return { class: kind, code, words: null, suspectsNetwork: false, retryAfterMs }
}
