/** One message of a call, as it crosses threads. */
export type CallMessage =
  | { readonly call: number; readonly name: string; readonly given: readonly unknown[] }
  | { readonly answer: number; readonly value?: unknown; readonly error?: string }

type Method = (...given: never[]) => unknown
type Methods<Side> = { readonly [Name in keyof Side]: Method }

/** Calls between two threads, each of which offers methods to the other one. An error keeps its message alone. */
export class Calls<Theirs extends Methods<Theirs>, Ours extends Methods<Ours>> {
  readonly #ours: Ours
  readonly #post: (message: CallMessage) => void
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>()
  #last = 0
  #ended: Error | null = null

  constructor(ours: Ours, post: (message: CallMessage) => void) {
    this.#ours = ours
    this.#post = post
  }

  call<Name extends keyof Theirs & string>(
    name: Name,
    ...given: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    if (this.#ended) return Promise.reject(this.#ended)
    const call = ++this.#last
    const answer = Promise.withResolvers<unknown>()
    this.#open.set(call, answer)
    this.#post({ call, name, given })
    return answer.promise as Promise<Awaited<ReturnType<Theirs[Name]>>>
  }

  receive(message: CallMessage): void {
    if ('call' in message) {
      void this.#answer(message)
      return
    }
    const answer = this.#open.get(message.answer)
    this.#open.delete(message.answer)
    if (message.error === undefined) answer?.resolve(message.value)
    else answer?.reject(new Error(message.error))
  }

  /** The other thread is gone: nothing will be answered, now or later. */
  rejectAll(error: Error): void {
    this.#ended = error
    for (const { reject } of this.#open.values()) reject(error)
    this.#open.clear()
  }

  async #answer({ call, name, given }: Extract<CallMessage, { call: number }>): Promise<void> {
    try {
      const method: Method = this.#ours[name as keyof Ours]
      this.#post({ answer: call, value: await method(...(given as never[])) })
    } catch (error) {
      this.#post({ answer: call, error: error instanceof Error ? error.message : String(error) })
    }
  }
}
