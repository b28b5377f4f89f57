import { StorageUnavailable } from '../../core/ports/lanes.ts'
import type { Token } from '../../core/token/token.ts'
import type { DeadlineQueue } from '../server/deadline-queue.ts'
import { pauseSocket } from '../server/pause-socket.ts'
import { type Problem, problem } from '../server/problem.ts'
import type { RequestContext, RequestOwner } from '../server/request-context.ts'
import { awaitLookUp } from './await-look-up.ts'
import type { SendHandler } from './send-handler.ts'

interface TokenLookUpInput {
  readonly context: RequestContext
  readonly deadlines: DeadlineQueue
  readonly token: Promise<Token | null>
  /** Creates the handler of the request once its token is known. */
  createHandler(token: Token): SendHandler
}

/**
 * A request whose token must be looked up in storage first.
 *
 *   waiting ──▶ token known ──▶ send handler
 *      │ └────▶ no such token ──▶ 401
 *      └──────▶ storage is away, or silent for too long ──▶ 503
 *
 * - Nothing of the body is read meanwhile, and the connection is paused. Otherwise callers without a token could fill
 *   the memory with pipelined requests while storage is slow.
 * - A request that is aborted meanwhile is refused once its token is known: only then can it be written to the API log.
 */
export class TokenLookUp implements RequestOwner {
  readonly #input: TokenLookUpInput
  #brokenBy: readonly Problem[] | null = null

  constructor(input: TokenLookUpInput) {
    this.#input = input
    input.context.owner = this
  }

  refuse(problems: readonly Problem[]): void {
    this.#brokenBy ??= problems
  }

  /** Never rejects. */
  async start(): Promise<void> {
    const { context, deadlines, token } = this.#input
    const release = pauseSocket(context.request.socket)
    try {
      this.#goOn(await awaitLookUp(deadlines, token))
    } catch (error) {
      this.#fail(error)
    } finally {
      release()
    }
  }

  #goOn(token: Token | null): void {
    const { context } = this.#input
    if (!token) {
      context.refuse(this.#brokenBy ?? [problem('unauthorized', 'x-api-key')])
      return
    }
    const handler = this.#input.createHandler(token)
    if (this.#brokenBy) handler.refuse(this.#brokenBy)
    else handler.start()
  }

  #fail(error: unknown): void {
    const { context } = this.#input
    if (error instanceof StorageUnavailable) {
      context.refuse(this.#brokenBy ?? [problem('not_accepted')])
      return
    }
    // Once a send handler has taken over, it answers faults itself; this object would only note them.
    if (context.owner === this) context.owner = null
    context.fail(error)
  }
}
