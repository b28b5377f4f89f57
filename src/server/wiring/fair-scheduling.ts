import { CONSOLE_AREAS } from '../../core/ports/console/console-areas.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'

// As many as there are connections on PostgreSQL. In the thread of SQLite they take turns statement by statement.
const AT_ONCE = 4
const AT_ONCE_OF_ONE = 2

interface Line {
  running: number
  readonly waiting: (() => void)[]
}

/**
 * Lets accounts take turns at the console's store. An account that asks for very much waits in its own queue, and others wait
 * for no more than the calls that run at this moment.
 */
export class FairScheduler {
  #running = 0
  readonly #lines = new Map<string, Line>()

  /** How many calls have not begun yet. */
  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, { waiting }) => sum + waiting.length, 0)
  }

  share(store: ConsoleStore): ConsoleStore {
    const areas = CONSOLE_AREAS.map((area) => [area, this.#shareArea(store[area])] as const)
    return Object.fromEntries(areas) as unknown as ConsoleStore
  }

  #shareArea(area: object): object {
    return new Proxy(area, {
      get: (target, name) => {
        const verb: unknown = Reflect.get(target, name)
        if (typeof verb !== 'function') return verb
        return (...args: readonly unknown[]) =>
          this.#run(whose(args), () => Reflect.apply(verb, target, args) as Promise<unknown>)
      },
    })
  }

  async #run(whose: string, call: () => Promise<unknown>): Promise<unknown> {
    const line = this.#lines.get(whose) ?? { running: 0, waiting: [] }
    this.#lines.set(whose, line)
    await new Promise<void>((begin) => {
      line.waiting.push(begin)
      this.#beginNext()
    })
    try {
      return await call()
    } finally {
      this.#running -= 1
      line.running -= 1
      if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(whose)
      this.#beginNext()
    }
  }

  #beginNext(): void {
    if (this.#running >= AT_ONCE) return
    for (const [whose, line] of this.#lines) {
      if (whose !== '' && line.running >= AT_ONCE_OF_ONE) continue
      const begin = line.waiting.shift()
      if (!begin) continue
      this.#running += 1
      line.running += 1
      // Moved to the end: all others come first now.
      this.#lines.delete(whose)
      this.#lines.set(whose, line)
      begin()
      return
    }
  }
}

/** The account or the person that a call is about, which each verb of theirs names first; nothing when it is about neither. */
function whose([first]: readonly unknown[]): string {
  if (typeof first === 'string') return first
  const { accountId, personId } = (first ?? {}) as { readonly accountId?: string | null; readonly personId?: string }
  return accountId ?? personId ?? ''
}
