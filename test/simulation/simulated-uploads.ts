import type { MessageId } from '../../src/core/ids.ts'
import type { Failure, Handover, Prepared, RateLimitDelay } from '../../src/core/ports/channel.ts'
import type { Random } from './random.ts'
import type { Schedule } from './schedule.ts'
import type { SimulatedMachine } from './simulated-machine.ts'

export type UploadResult = 'quick' | 'slow' | 'stuck' | 'stuck-and-deaf' | 'busy' | 'away' | 'refused' | 'crash'

/** One message that a worker prepares. */
export interface Upload {
  readonly handover: Handover
  readonly machine: SimulatedMachine
  readonly signal: AbortSignal
  /** The worker has its reply, or its machine is dead. */
  isOver: boolean
}

/** How often uploads fail, and how often the network sets a pause for a connection or a recipient. */
export interface UploadFaults {
  weights: Readonly<Partial<Record<UploadResult, number>>>
  rests: number
  recipientRests: number
}

type Route = Pick<Handover, 'connectionId' | 'to'>

export interface UploadParts {
  readonly schedule: Schedule
  readonly random: Random
  readonly faults: UploadFaults
  readonly onUpload: (upload: Upload) => void
  readonly onCrash: (machine: SimulatedMachine) => void
  readonly note: (who: string, what: string) => void
  readonly nameOf: (id: MessageId) => string
}

const ALL_WELL: Readonly<Record<UploadResult, number>> = {
  quick: 1,
  slow: 0,
  stuck: 0,
  'stuck-and-deaf': 0,
  busy: 0,
  away: 0,
  refused: 0,
  crash: 0,
}

const REASONS = { connection: 'whatsapp_number_pace', recipient: 'whatsapp_pair_pace' } as const

/** The attachments that networks have before the messages come, and the pauses in which they accept no messages. */
export class SimulatedUploads {
  readonly #parts: UploadParts
  readonly uploads: Upload[] = []
  readonly #there = new Set<MessageId>()
  /** Pauses of connections, and of recipients of a connection. */
  readonly #restsUntil = new Map<string, number>()
  /** The workers that may continue to a recipient. */
  readonly #allowed = new Set<string>()

  constructor(parts: UploadParts) {
    this.#parts = parts
  }

  has(messageId: MessageId): boolean {
    return this.#there.has(messageId)
  }

  running(): readonly Upload[] {
    return this.uploads.filter((upload) => !upload.isOver && !upload.machine.isDead)
  }

  /** True if this worker was allowed to call since it last called this recipient. */
  takeLeave({ connectionId, to }: Route, machine: SimulatedMachine): boolean {
    return this.#allowed.delete(`${machine.name} ${connectionId} ${to}`)
  }

  prepare(machine: SimulatedMachine, handover: Handover, signal: AbortSignal): Promise<Prepared> {
    const { random, faults, onUpload, note, nameOf } = this.#parts
    const upload: Upload = { handover, machine, signal, isOver: false }
    onUpload(upload)
    this.uploads.push(upload)
    const isThere = this.has(handover.messageId)
    const result = isThere ? 'quick' : random.weighed<UploadResult>({ ...ALL_WELL, ...faults.weights, quick: 1 })
    note(
      machine.name,
      `uploads for ${handover.connectionId} ${nameOf(handover.messageId)}: ${isThere ? 'there' : result}`,
    )
    return new Promise((resolve) => {
      const end = (prepared: Prepared) =>
        machine.deliver(() => {
          upload.isOver = true
          resolve(prepared)
        })
      if (result !== 'stuck-and-deaf')
        signal.addEventListener('abort', () =>
          this.#parts.schedule.after(random.between(0, 500), () => end(failed('transient', 'network_error'))),
        )
      this.#go(upload, result, end)
    })
  }

  rateLimitDelayOf(machine: SimulatedMachine, { connectionId, to }: Route, now: number): RateLimitDelay | null {
    const leftOf = (key: string) => (this.#restsUntil.get(key) ?? 0) - this.#parts.schedule.now
    const scope = leftOf(connectionId) > 0 ? 'connection' : 'recipient'
    const leftMs = leftOf(scope === 'connection' ? connectionId : `${connectionId} ${to}`)
    const who = `${machine.name} ${connectionId} ${to}`
    if (leftMs > 0) {
      this.#allowed.delete(who)
      return { scope, until: now + leftMs, reason: REASONS[scope], words: null }
    }
    this.#allowed.add(who)
    return null
  }

  /** Something was sent: sometimes the network then sets a pause. */
  count({ connectionId, to }: Route): void {
    const { random, faults, schedule, note } = this.#parts
    const rest = (key: string) => {
      const forMs = random.between(20, 60_000)
      this.#restsUntil.set(key, schedule.now + forMs)
      note('network', `wants nothing of ${key} for ${forMs} ms`)
    }
    if (random.chance(faults.rests)) rest(connectionId)
    if (faults.recipientRests > 0 && random.chance(faults.recipientRests)) rest(`${connectionId} ${to}`)
  }

  #go(upload: Upload, result: UploadResult, end: (prepared: Prepared) => void): void {
    const { schedule, random, onCrash } = this.#parts
    const later = (most: number, then: () => void) => schedule.after(random.between(1, most), then)
    const arrive = () => {
      // A broken-off upload is not there.
      if (upload.signal.aborted || upload.machine.isDead) return
      this.#there.add(upload.handover.messageId)
      end({ kind: 'ready' })
    }
    switch (result) {
      case 'quick':
        later(200, arrive)
        return
      case 'slow':
        later(120_000, arrive)
        return
      case 'stuck':
      case 'stuck-and-deaf':
        return
      case 'busy':
        later(5_000, () => end(failed('transient', 'busy', random.chance(0.3))))
        return
      case 'away':
        later(5_000, () => end(failed('connection', random.pick(['connection_away', 'rate_limited']))))
        return
      case 'refused':
        later(5_000, () => end(failed('permanent', 'content_refused')))
        return
      case 'crash':
        later(30_000, () => {
          if (!upload.isOver) onCrash(upload.machine)
        })
    }
  }
}

function failed(kind: Failure['class'], code: Failure['code'], suspectsNetwork = false): Prepared {
  return { kind: 'failed', failure: { class: kind, code, words: null, suspectsNetwork, retryAfterMs: null } }
}
