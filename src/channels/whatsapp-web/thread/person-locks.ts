import type { SignalRepository } from './library.ts'

type Mapping = SignalRepository['lidMapping']

/**
 * Work on the encrypted sessions of one person runs one at a time. A person has two addresses, the number and WhatsApp's own id
 * (LID), and one session: two steps of its ratchet that run at once would begin with the same state, and the one stored last
 * would undo the other.
 */
export class PersonLocks {
  readonly #mapping: Mapping
  readonly #last = new Map<string, Promise<void>>()

  constructor(mapping: Mapping) {
    this.#mapping = mapping
  }

  async run<Result>(jid: string, work: () => Promise<Result>): Promise<Result> {
    const person = await this.#personOf(jid)
    const before = this.#last.get(person) ?? Promise.resolve()
    const result = before.then(work)
    const ended = result.then(ignore, ignore)
    this.#last.set(person, ended)
    void ended.then(() => {
      if (this.#last.get(person) === ended) this.#last.delete(person)
    })
    return result
  }

  /** Asked before the lock: the library asks it as well, and stores the session under the answer. */
  async #personOf(jid: string): Promise<string> {
    const [user = '', server] = jid.split('@')
    const lid = server === 's.whatsapp.net' || server === 'hosted' ? await this.#mapping.getLIDForPN(jid) : jid
    return (lid ?? user).split(/[:@]/)[0] ?? ''
  }
}

function ignore(): void {}
