import type { DatabaseSync } from 'node:sqlite'
import type { ConnectionId, MessageId } from '../../src/core/ids.ts'
import { FIRSTS, type FirstRow, isDue, isReady, OF_A_LANE } from './due-messages.ts'
import { type NetworkCall, type NetworkKind, type SimulatedNetwork, UPLOADING_NETWORKS } from './simulated-network.ts'
import type { SimulatedUploads } from './simulated-uploads.ts'
import type { Trace } from './trace.ts'

/** A message that a client sent, and its answer. */
export interface Sent {
  readonly text: string
  readonly to: string
  readonly connectionId: ConnectionId
  /** Null when the client does not know whether it was accepted. */
  messageId: MessageId | null
}

interface MessageRow {
  readonly sequence: number
  readonly id: MessageId
  readonly account_id: string
  readonly connection_id: ConnectionId
  readonly recipient: string
  readonly body: string
  readonly state: string
  readonly reason: string | null
}

interface Ready {
  readonly id: ConnectionId
  readonly since: number
}

interface CalledMessage {
  readonly message: MessageRow
  readonly name: string
}

const MOST_ATTEMPTS = 150
const DUE_STARTS_WITHIN_MS = 20_000
// A call, its grace period, the wait for evidence, and a takeover in between.
const OPEN_ATTEMPT_ENDS_WITHIN_MS = 75_000
const OVERTAKEN_FOR_AT_MOST_MS = 15_000
// The ninth failed try is the last.
const MOST_FAILED_TRIES = 8

/** Checks a simulated world by what the database, the network and the clients have seen, without querying the dispatcher. */
export class Referee {
  readonly #database: DatabaseSync
  readonly #network: () => SimulatedNetwork
  readonly #uploads: () => SimulatedUploads
  readonly #trace: Trace
  readonly #now: () => number
  readonly sent: Sent[] = []
  /** Connections whose owner has at some time chosen to resend messages that may have arrived. */
  readonly mayResend = new Set<ConnectionId>()
  /** Workers have been lost, or commits reported as unknown, so outcomes may have been lost. */
  outcomesMayBeLost = false
  readonly #names = new Map<MessageId, string>()
  readonly #dueSince = new Map<ConnectionId, { sequence: number; since: number }>()
  /** The messages that wait for nothing of their own, by position. */
  #ready = new Map<number, Ready>()
  readonly #openSince = new Map<string, number>()

  constructor(parts: {
    database: DatabaseSync
    network: () => SimulatedNetwork
    uploads: () => SimulatedUploads
    trace: Trace
    now: () => number
  }) {
    this.#database = parts.database
    this.#network = parts.network
    this.#uploads = parts.uploads
    this.#trace = parts.trace
    this.#now = parts.now
  }

  /** A name that is the same in every run of a seed: message ids differ from run to run, positions do not. */
  nameOf(id: MessageId): string {
    let name = this.#names.get(id)
    if (!name) {
      const row = this.#row('select sequence from message where id = ?', id)
      name = row ? `m${String(row['sequence'])}` : 'm?'
      if (row) this.#names.set(id, name)
    }
    return name
  }

  /** Checks I2, I3, I4, I5, I6 and G5 when a worker calls the network. */
  onCall(call: NetworkCall, kind: NetworkKind): void {
    const { handover } = call
    const name = `${this.nameOf(handover.messageId)} #${handover.attemptNumber} of ${handover.connectionId}`
    const message = this.#row('select * from message where id = ?', handover.messageId) as MessageRow | undefined
    if (message) this.#checkWanted(call, kind, { message, name })
    else this.#violate('I2 no invention', `${name} was never accepted`)
  }

  #checkWanted(call: NetworkCall, kind: NetworkKind, { message, name }: CalledMessage): void {
    const { handover, machine } = call
    this.#checkContent(call, message, name)
    const open = this.#row('select * from open_attempt where connection_id = ?', handover.connectionId)
    if (open?.['message_sequence'] !== message.sequence || open['number'] !== handover.attemptNumber) {
      this.#violate('I6 intent first', `${name} is called without its open attempt`)
    }
    const owner = this.#row('select owner from lane where connection_id = ?', handover.connectionId)?.['owner']
    if (owner !== machine.name)
      this.#violate('I5 fencing', `${name} is called by ${machine.name}, but the lane is ${String(owner)}'s`)
    const lowest = this.#row(
      'select min(sequence) as lowest from waiting where connection_id = ? and recipient = ?',
      handover.connectionId,
      handover.to,
    )?.['lowest']
    if (lowest !== message.sequence)
      this.#violate('I4 order', `${name} is called while m${String(lowest)} to the same recipient is unfinished`)
    this.#checkEarliestFirst(handover.connectionId, { message, name })
    this.#checkRepeat(call, kind, { message, name })
    for (const other of this.#network().callsOf(handover.connectionId)) {
      const gone =
        other.ended || other.machine.isDead || other.machine.isPaused || other.machine.pauses > other.pausesBefore
      if (!gone)
        this.#violate('I3 one by one', `${name} is called while ${this.nameOf(other.handover.messageId)} is open`)
    }
  }

  /** While nothing fails, no message that has long been ready is passed by a younger one, however busy its lane is (I4b). */
  #checkEarliestFirst(connectionId: ConnectionId, { message, name }: CalledMessage): void {
    for (const [sequence, { id, since }] of this.#ready) {
      const forMs = this.#now() - since
      if (id !== connectionId || sequence >= message.sequence || forMs <= OVERTAKEN_FOR_AT_MOST_MS) continue
      if (this.#row('select 1 from waiting where sequence = ?', sequence))
        this.#violate('I4b earliest first', `${name} is called, though m${sequence} has been ready for ${forMs} ms`)
    }
  }

  /** Checks I7 when something is sent to a recipient. */
  onEffect(call: NetworkCall, kind: NetworkKind): void {
    const { messageId, connectionId } = call.handover
    const most = !kind.recognisesRepeat && this.mayResend.has(connectionId) ? 2 : 1
    const effects = this.#network().effects.get(messageId)?.length ?? 0
    if (effects > most)
      this.#violate('I7 bounded effects', `${this.nameOf(messageId)} reached its recipient ${effects} times`)
  }

  /**
   * While nothing fails, the lowest due message starts soon, and no attempt stays open for ever (I10). No lane waits as a whole
   * for what one message waits for (I14).
   */
  watchLiveness(): void {
    const now = this.#now()
    // An upload has a time limit. Two running uploads delay further ones.
    const running = this.#uploads()
      .running()
      .filter(({ signal }) => !signal.aborted)
    const uploading = Map.groupBy(running, ({ handover }) => handover.connectionId)
    const lowest = new Map<ConnectionId, FirstRow>()
    const ready = new Map<number, Ready>()
    for (const first of this.#all(FIRSTS) as unknown as FirstRow[]) {
      const uploads = uploading.get(first.id) ?? []
      const isUploading =
        first.media !== null && (uploads.length > 1 || uploads.some(({ handover: { to } }) => to === first.recipient))
      if (isUploading) continue
      // A message with a file to upload steps aside for its upload when its turn comes.
      const mayUpload = first.media !== null && UPLOADING_NETWORKS.some(({ name }) => name === first.channel)
      if (!mayUpload && isReady(first, now))
        ready.set(first.sequence, this.#ready.get(first.sequence) ?? { id: first.id, since: now })
      if (!lowest.has(first.id) && isDue(first, now)) lowest.set(first.id, first)
      const reason = first.wait_reason
      if (reason !== null && !OF_A_LANE.has(reason) && isDue({ ...first, wait_reason: null }, now))
        this.#violate('I14 own waits', `${first.id} waits as a whole with ${reason}, though m${first.sequence} is due`)
    }
    this.#ready = ready
    for (const id of this.#dueSince.keys()) if (!lowest.has(id)) this.#dueSince.delete(id)
    for (const [id, { sequence }] of lowest) {
      const due = this.#dueSince.get(id)
      if (due?.sequence !== sequence) this.#dueSince.set(id, { sequence, since: now })
      else if (now - due.since > DUE_STARTS_WITHIN_MS) {
        this.#violate('I10 liveness', `m${sequence} of ${id} has been due for ${now - due.since} ms`)
      }
    }
    for (const open of this.#all('select message_sequence as sequence, number from open_attempt')) {
      const key = `${String(open['sequence'])}#${String(open['number'])}`
      const since = this.#openSince.get(key) ?? now
      this.#openSince.set(key, since)
      if (now - since > OPEN_ATTEMPT_ENDS_WITHIN_MS)
        this.#violate('I10 liveness', `m${key} has been open for ${now - since} ms`)
    }
  }

  isDrained(): boolean {
    const { open } = this.#row('select count(*) as open from open_attempt') as { open: number }
    return open === 0 && this.#row(`select 1 from message where state = 'QUEUED' limit 1`) === undefined
  }

  /** Call it after the world has come to rest. */
  checkEnd(): void {
    this.#checkNoLoss()
    this.#checkStates()
    this.#checkTransitions()
    this.#checkAttempts()
    this.#checkTries()
    this.#checkTenants()
  }

  #checkContent({ handover }: NetworkCall, message: MessageRow, name: string): void {
    const { content, to, connectionId, accountId } = handover
    const text = content.type === 'message' ? content.text : content.caption
    const sent = this.sent.find((each) => each.text === text && each.to === to)
    if (!sent || sent.connectionId !== connectionId || message.recipient !== to)
      this.#violate('I2 no invention', `${name} differs from what a client sent`)
    if (message.account_id !== accountId || message.connection_id !== connectionId)
      this.#violate('I9 tenants', `${name} goes out for another`)
    if (content.type !== 'message' && !handover.media)
      this.#violate('I2 no invention', `${name} goes out without its file`)
  }

  #checkRepeat({ handover }: NetworkCall, kind: NetworkKind, { message, name }: CalledMessage): void {
    const called = this.#network().calls.some(
      (each) =>
        each.handover.messageId === handover.messageId && each.handover.attemptNumber === handover.attemptNumber,
    )
    if (called) this.#violate('I7 bounded calls', `${name} is called twice`)
    if (handover.attemptNumber > MOST_ATTEMPTS) this.#violate('I7 bounded calls', `${name} is called without end`)
    const before = this.#all('select outcome from attempt where message_sequence = ?', message.sequence)
    const unknown = before.filter((attempt) => attempt['outcome'] === 'unknown').length
    const most = kind.recognisesRepeat ? Number.POSITIVE_INFINITY : this.mayResend.has(handover.connectionId) ? 1 : 0
    if (unknown > most)
      this.#violate('G5 no silent duplicate', `${name} is called after ${unknown} attempts with an unknown result`)
    if (before.some((attempt) => attempt['outcome'] === 'accepted'))
      this.#violate('G5 no silent duplicate', `${name} is called after it was accepted`)
  }

  /** Checks I1 and I2 for the whole run. */
  #checkNoLoss(): void {
    for (const { messageId, text } of this.sent) {
      if (messageId && !this.#row('select 1 from message where id = ?', messageId))
        this.#violate('I1 no loss', `${text} was acknowledged and is gone`)
    }
    const { waiting } = this.#row(`select count(*) as waiting from message where state = 'QUEUED'`) as {
      waiting: number
    }
    if (waiting > 0) this.#violate('I1 no loss', `${waiting} messages never came to an end`)
  }

  /** Checks that the log states what really became of each message. */
  #checkStates(): void {
    for (const message of this.#all('select * from message') as unknown as MessageRow[]) {
      const effects = this.#network().effects.get(message.id) ?? []
      const said = `m${message.sequence} is ${message.state} (${message.reason ?? ''})`
      switch (message.state) {
        case 'PUBLISHED':
        case 'DELIVERED':
        case 'READ':
          if (effects.length === 0 && message.reason !== 'marked_arrived')
            this.#violate('the log never lies', `${said}, but no network took it`)
          break
        case 'FAILED':
        case 'EXPIRED':
        case 'CANCELLED':
          if (effects.some((effect) => !effect.refusedLater))
            this.#violate('the log never lies', `${said}, but it reached its recipient`)
          break
        case 'UNCONFIRMED':
          if (!this.#wasUnknownOnce(message.sequence))
            this.#violate('the log never lies', `${said}, but every attempt is proven not sent`)
          if (message.reason === 'stopped_while_sending' && !this.outcomesMayBeLost)
            this.#violate('no outcome is given up', `${said}, but no worker died`)
          break
        default:
          this.#violate('I8 monotone states', said)
      }
    }
  }

  #checkTransitions(): void {
    for (const { sequence, old, new: to } of this.#all('select * from transition') as unknown as {
      sequence: number
      old: string
      new: string
    }[]) {
      const isRepeatRefused = old === 'PUBLISHED' && to === 'UNCONFIRMED'
      // The report came while the message waited to be sent once more.
      const isFoundInTime = old === 'QUEUED' && (to === 'DELIVERED' || to === 'READ')
      const isOfUnknown = (isRepeatRefused || isFoundInTime) && this.#wasUnknownOnce(sequence)
      if (old !== to && !TRANSITIONS[old]?.includes(to) && !isOfUnknown)
        this.#violate('I8 monotone states', `m${sequence} went from ${old} to ${to}`)
    }
  }

  #wasUnknownOnce(sequence: number): boolean {
    return this.#row(`select 1 from attempt where outcome = 'unknown' and message_sequence = ?`, sequence) !== undefined
  }

  #checkAttempts(): void {
    const calls = new Map(
      this.#network().calls.map((call) => [
        `${this.nameOf(call.handover.messageId)}#${call.handover.attemptNumber}`,
        call,
      ]),
    )
    for (const attempt of this.#all('select message_sequence, number, outcome from attempt')) {
      const key = `m${String(attempt['message_sequence'])}#${String(attempt['number'])}`
      const call = calls.get(key)
      calls.delete(key)
      if (attempt['outcome'] === 'rejected' && call?.effectAt != null)
        this.#violate('the log never lies', `${key} is rejected, but it reached its recipient`)
      if (attempt['outcome'] === 'accepted' && !this.#network().effects.has(this.#idOf(attempt['message_sequence']))) {
        this.#violate('the log never lies', `${key} is accepted, but no network took it`)
      }
    }
    for (const key of calls.keys()) this.#violate('I6 intent first', `${key} was called, and no attempt records it`)
  }

  /** Checks the number of tries over restarts and takeovers. */
  #checkTries(): void {
    for (const { sequence, times } of this.#all(
      'select sequence, times from failed_tries where times > ?',
      MOST_FAILED_TRIES,
    ))
      this.#violate('I13 bounded tries', `m${String(sequence)} failed ${String(times)} times, and was tried again`)
  }

  #checkTenants(): void {
    const strangers = this.#all(
      `select message.sequence from message
         left join connection on connection.id = message.connection_id and connection.account_id = message.account_id
         left join token on token.id = message.token_id and token.account_id = message.account_id
         where connection.id is null or (message.token_id is not null and token.id is null)`,
    )
    if (strangers.length > 0) this.#violate('I9 tenants', `${strangers.length} messages belong to no account`)
  }

  #idOf(sequence: unknown): MessageId {
    return this.#row('select id from message where sequence = ?', sequence as number)?.['id'] as MessageId
  }

  #violate(invariant: string, detail: string): void {
    this.#trace.violate(invariant, detail)
  }

  #row(sql: string, ...values: (string | number)[]): Record<string, unknown> | undefined {
    return this.#prepared(sql).get(...values)
  }

  #all(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
    return this.#prepared(sql).all(...values)
  }

  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>()

  #prepared(sql: string) {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

const TRANSITIONS: Readonly<Record<string, readonly string[]>> = {
  QUEUED: ['PUBLISHED', 'FAILED', 'UNCONFIRMED', 'EXPIRED', 'CANCELLED'],
  PUBLISHED: ['DELIVERED', 'READ', 'FAILED'],
  DELIVERED: ['READ'],
  UNCONFIRMED: ['PUBLISHED', 'DELIVERED', 'READ', 'FAILED'],
  FAILED: ['PUBLISHED'],
}
