import { type SuccessState, successBody } from '../../contract/replies.ts'
import { REPLIES } from '../../contract/reply-table.ts'
import type { MessageId } from '../../core/ids.ts'
import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { MessageType } from '../../core/message/message.ts'
import type { AcceptResult, Intake, RefusedRequest, RequestFacts } from '../../core/ports/intake.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { isUsable, type Token } from '../../core/token/token.ts'
import type { DeadlineItem, DeadlineQueue } from '../server/deadline-queue.ts'
import { MAX_BODY_BYTES } from '../server/http-limits.ts'
import { type Problem, problem } from '../server/problem.ts'
import { type BodyBounds, readBody } from '../server/read-body.ts'
import { replyOf } from '../server/refusal-replies.ts'
import { JSON_TYPE, type RequestContext, type RequestOwner } from '../server/request-context.ts'
import { stateOfReplay } from '../server/state-of-replay.ts'
import type { AcceptRate } from './accept-rate.ts'
import { awaitLookUp } from './await-look-up.ts'
import { type CheckedBody, checkBody } from './check-body.ts'
import { checkHeaders } from './check-headers.ts'
import { fingerprint } from './fingerprint.ts'
import type { RefusalAggregates } from './refusal-aggregates.ts'
import type { RefusalBudget } from './refusal-budget.ts'
import type { SourceRanges } from './source-ranges.ts'

// No limit on the number of pieces.
const BODY_BOUNDS: BodyBounds = { maxBytes: MAX_BODY_BYTES }

/** Shared by all requests. */
export interface SendHandlerDeps {
  readonly intake: Intake
  readonly deadlines: DeadlineQueue
  readonly rate: AcceptRate
  readonly budget: RefusalBudget
  readonly aggregates: RefusalAggregates
  readonly ranges: SourceRanges
  readonly mediaRanges: OperatorRanges
  isAccepting(): boolean
}

interface SendHandlerInput {
  readonly context: RequestContext
  readonly token: Token
  readonly remoteAddress: string
  /** Null when none was sent, or an invalid one. */
  readonly idempotencyKey: string | null
}

/** A limit that refuses the request unless it is a repeat. */
interface Exceeded {
  readonly exceeded: Problem
  /** Null until the body is read. */
  readonly checked: CheckedBody | null
}

/**
 * Handles a request with a known token, up to its reply.
 *
 *   authorized ──▶ body read ──▶ validated ──▶ accepted by storage ──▶ 200
 *      │               │             │               │
 *      └───────────────┴─────────────┴───────────────┴──▶ refused: into the API log, then answered
 *
 * - When an account is refused too often, its refusals are only counted and answered at once, not logged one by one.
 * - Refusals that storage fails to write are counted as well, and written to the API log later.
 * - The order of the checks is part of the contract: 401, 403, 429, 400, 403 for the connection, 404.
 * - Nothing of the body is read before the token, its events and the limits have been checked.
 * - A repeat under a known idempotency key is answered instead of 429. Storage is asked about a key only when a limit
 *   would refuse the request, because that may cost a query; for other requests, accepting finds repeats.
 * - Whatever storage does, the caller has an answer within seconds.
 */
export class SendHandler implements RequestOwner, DeadlineItem {
  readonly #deps: SendHandlerDeps
  readonly #context: RequestContext
  readonly #token: Token
  readonly #facts: RequestFacts
  readonly #idempotencyKey: string | null
  /** The key has a message already, so limits do not apply: the caller only asks for the same answer again. */
  #isRepeat = false
  #hasTakenRate = false
  #body: string | null = null
  #isRefused = false
  /** When storage was asked, by the monotonic clock; only set when tracing is on. */
  #checkedMonotonic = 0

  constructor(deps: SendHandlerDeps, { context, token, remoteAddress, idempotencyKey }: SendHandlerInput) {
    const { requestId, receivedAt, receivedMonotonic, request } = context
    const userAgent = request.headers['user-agent']?.slice(0, 256) ?? null
    this.#deps = deps
    this.#context = context
    this.#token = token
    this.#idempotencyKey = idempotencyKey
    this.#facts = { requestId, receivedAt, receivedMonotonic, remoteAddress, userAgent }
    context.owner = this
  }

  start(): void {
    const denied = this.#checkToken() ?? (this.#deps.isAccepting() ? null : problem('shutting_down'))
    if (denied) {
      this.refuse([denied])
      return
    }
    const exceeded = this.#checkRate() ?? this.#checkBacklog(null)
    if (exceeded) this.#refuseUnlessRepeat(exceeded, null)
    else this.#readBody()
  }

  /** Only the first refusal counts. */
  refuse(problems: readonly Problem[]): void {
    if (this.#isRefused) return
    this.#isRefused = true
    const { deadlines, budget, aggregates, intake } = this.#deps
    const refused = this.#refusedRequest(problems)
    const aggregate = () => aggregates.add(refused, problems[0]?.code ?? 'internal_error')
    if (!budget.take(refused)) {
      aggregate()
      this.#context.refuse(problems)
      return
    }
    const waiting = {
      onDeadline: () => {
        this.#context.server.observer.refusalNotLogged(1)
        this.#context.refuse(problems)
      },
    }
    const ticket = deadlines.add(waiting)
    const answer = (isLogged: boolean) => {
      if (!deadlines.remove(ticket, waiting)) return
      if (!isLogged) aggregate()
      this.#context.refuse(problems)
    }
    intake.logRefused(refused).then(answer, () => answer(false))
  }

  /** Storage has not answered in time. The message may still be committed. */
  onDeadline(): void {
    this.#context.refuse([problem('commit_unknown')])
  }

  #checkToken(): Problem | null {
    if (!isUsable(this.#token, this.#facts.receivedAt)) return problem('unauthorized', 'x-api-key')
    if (!this.#token.events.includes('messaging.send_message')) return problem('event_missing')
    return this.#deps.ranges.allow(this.#token, this.#facts.remoteAddress) ? null : problem('source_not_allowed')
  }

  #checkRate(): Problem | null {
    this.#hasTakenRate = this.#deps.rate.take(this.#token.accountId)
    return this.#hasTakenRate ? null : problem('rate_exceeded')
  }

  #checkBacklog(from: string | null): Problem | null {
    const full = this.#deps.intake.isBacklogFull(this.#token.accountId, from)
    return full && problem(full)
  }

  /** `checked` is null until the body is read. */
  #refuseUnlessRepeat(exceeded: Problem, checked: CheckedBody | null): void {
    const key = this.#idempotencyKey
    const isRepeat = key !== null && this.#deps.intake.namesMessage(this.#token.accountId, key)
    if (isRepeat instanceof Promise) void this.#awaitKey(isRepeat, { exceeded, checked })
    else if (isRepeat) this.#goOnAsRepeat(checked)
    else this.refuse([exceeded])
  }

  /** Never rejects. */
  async #awaitKey(lookUp: Promise<boolean>, { exceeded, checked }: Exceeded): Promise<void> {
    try {
      const isRepeat = await awaitLookUp(this.#deps.deadlines, lookUp)
      // The request may have been aborted meanwhile, and is being refused for that.
      if (this.#isRefused) return
      if (isRepeat) this.#goOnAsRepeat(checked)
      else this.refuse([exceeded])
    } catch (error) {
      if (error instanceof StorageUnavailable) this.#refuseUnlogged(problem('not_accepted'))
      else this.#context.fail(error)
    }
  }

  #goOnAsRepeat(checked: CheckedBody | null): void {
    this.#isRepeat = true
    if (checked) this.#decide(checked)
    else this.#readBody()
  }

  #readBody(): void {
    readBody(this.#context, BODY_BOUNDS, (bytes) => this.#guard(() => this.#receive(bytes)))
  }

  #receive(bytes: Buffer | null): void {
    // Too late: its refusal is being written to the API log.
    if (this.#isRefused) return
    const checked = checkBody(bytes, this.#deps.mediaRanges)
    this.#body = checked.text
    const full = checked.from === null || this.#isRepeat ? null : this.#checkBacklog(checked.from)
    if (full) this.#refuseUnlessRepeat(full, checked)
    else this.#decide(checked)
  }

  #decide(checked: CheckedBody): void {
    const ofHeaders = checkHeaders(this.#context)
    if (checked.ok && ofHeaders.length === 0) this.#accept(checked)
    else this.refuse(checked.ok || !isReadable(ofHeaders) ? ofHeaders : [...ofHeaders, ...checked.problems])
  }

  #accept({ text, from, to, content }: Extract<CheckedBody, { ok: true }>): void {
    const { intake, deadlines } = this.#deps
    const key = this.#idempotencyKey
    const ticket = deadlines.add(this)
    const { observer, clock } = this.#context.server
    if (observer.accepted) this.#checkedMonotonic = clock.monotonic()
    intake
      .accept({
        facts: this.#facts,
        tokenId: this.#token.id,
        accountId: this.#token.accountId,
        from,
        to,
        content,
        body: text,
        idempotency: key === null ? null : { key, fingerprint: fingerprint(from, to, content) },
      })
      .then(
        (result) => {
          if (deadlines.remove(ticket, this)) this.#guard(() => this.#answer(result, content.type))
          // The caller has an answer already, and the API log has no entry.
          else if (result.kind === 'unavailable') this.#aggregate(problem('commit_unknown'))
        },
        (error: unknown) => deadlines.remove(ticket, this) && this.#context.fail(error),
      )
  }

  #answer(result: AcceptResult, type: MessageType): void {
    switch (result.kind) {
      case 'accepted':
        this.#answerAccepted(result, type)
        break
      case 'replayed': {
        // A repeat sends no message.
        if (this.#hasTakenRate) this.#deps.rate.release(this.#token.accountId)
        const state = stateOfReplay(result.state)
        replySuccess(this.#context, 'replayed', { messageId: result.messageId, state })
        break
      }
      case 'refused':
        this.refuse([problem(result.code, fieldOf(result.code))])
        break
      case 'unavailable':
        this.#refuseUnlogged(problem(result.code))
        break
    }
  }

  #answerAccepted({ messageId, connectionId }: Extract<AcceptResult, { kind: 'accepted' }>, type: MessageType): void {
    const { observer, clock } = this.#context.server
    const committed = observer.accepted ? clock.monotonic() : 0
    replySuccess(this.#context, 'accepted', { messageId, state: 'QUEUED' })
    if (!observer.accepted) return
    const { requestId, receivedAt, receivedMonotonic } = this.#facts
    observer.accepted({
      messageId,
      connectionId,
      requestId,
      type,
      receivedAt,
      checkedAfterMs: this.#checkedMonotonic - receivedMonotonic,
      committedAfterMs: committed - receivedMonotonic,
      tookMs: clock.monotonic() - receivedMonotonic,
      traceparent: traceparentOf(this.#context),
    })
  }

  /** Storage has just failed, so no log row is written now: the refusal is counted, and written later. */
  #refuseUnlogged(cause: Problem): void {
    if (this.#isRefused) return
    this.#aggregate(cause)
    this.#context.refuse([cause])
  }

  #aggregate(cause: Problem): void {
    this.#deps.aggregates.add(this.#refusedRequest([cause]), cause.code)
  }

  #refusedRequest(problems: readonly Problem[]): RefusedRequest {
    const code = problems[0]?.code ?? 'internal_error'
    const { kind, status } = replyOf(code)
    return {
      facts: this.#facts,
      accountId: this.#token.accountId,
      tokenId: this.#token.id,
      status,
      code: REPLIES[kind].code,
      errors: JSON.stringify(problems),
      body: this.#body,
    }
  }

  /** No caller on the stack would answer the request after a fault. */
  #guard(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.#context.fail(error)
    }
  }
}

/** Null when there are several, because it is unknown which one is meant. */
function traceparentOf({ request }: RequestContext): string | null {
  const given = request.headers['traceparent']
  return typeof given === 'string' ? given : null
}

/** A body of an unsupported type is not parsed, so its fields have no errors. */
function isReadable(ofHeaders: readonly Problem[]): boolean {
  return !ofHeaders.some(({ field }) => field === 'content-type' || field === 'content-encoding')
}

/** The field that a refusal of storage is about. */
function fieldOf(code: Extract<AcceptResult, { kind: 'refused' }>['code']): string | null {
  switch (code) {
    case 'connection_not_found':
    case 'connection_not_allowed':
      return 'from'
    case 'type_unsupported_by_channel':
      return 'message.type'
    case 'idempotency_key_reused':
      return 'idempotency-key'
    case 'unauthorized':
      return 'x-api-key'
    case 'event_missing':
      return null
  }
}

const BODIES: Record<SuccessState, string> = {
  QUEUED: JSON.stringify(successBody('QUEUED')),
  PUBLISHED: JSON.stringify(successBody('PUBLISHED')),
}
const LENGTHS: Record<SuccessState, string> = {
  QUEUED: String(BODIES.QUEUED.length),
  PUBLISHED: String(BODIES.PUBLISHED.length),
}

interface Success {
  readonly messageId: MessageId
  readonly state: SuccessState
}

function replySuccess(context: RequestContext, outcome: 'accepted' | 'replayed', { messageId, state }: Success): void {
  const head = ['content-type', JSON_TYPE, 'content-length', LENGTHS[state], 'x-message-id', messageId]
  context.reply(200, head, BODIES[state])
  context.count(200, outcome)
}
