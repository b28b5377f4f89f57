import type { AccountId } from '../../ids.ts'
import type { FullHost, MediaToFetch } from '../../ports/media-queue.ts'

const PER_ACCOUNT = 4
const PER_HOST = 4
// A host that stalls must leave an account room for its other hosts.
const PER_HOST_OF_ACCOUNT = 2
/** Enough that a few accounts with slow hosts leave room for all others (G8). */
export const FETCHES_AT_ONCE = 64

/** A fetch that waits or runs, and the host that it goes to. */
export interface HostFetch {
  readonly wanted: MediaToFetch
  readonly host: string
}

/** When accounts had their last turns, as long as anything of theirs waits. */
export class Turns {
  readonly #last = new Map<AccountId, number>()
  #count = 0

  of(accountId: AccountId): number {
    return this.#last.get(accountId) ?? 0
  }

  /** Gives the account its turn. Returns the turn's number. */
  take(accountId: AccountId): number {
    this.#count += 1
    this.#last.set(accountId, this.#count)
    return this.#count
  }

  keepOnly(accounts: ReadonlyMap<AccountId, unknown>): void {
    for (const accountId of this.#last.keys()) if (!accounts.has(accountId)) this.#last.delete(accountId)
  }
}

interface Waiter {
  readonly accountId: AccountId
  readonly fetches: HostFetch[]
  running: number
  turn: number
}

/**
 * Decides which waiting fetches may start. The account with the fewest running fetches comes first; of several, the one whose
 * last turn was longest ago; then the given order. An account gets no second place at a host while another account waits for
 * its first one there. Otherwise an account with many fetches would always take the place that it has just left (G8).
 */
export class FetchScheduler {
  readonly #turns: Turns
  /** In order of their turns. */
  readonly #waiters: Waiter[]
  readonly #waitersAt = new Map<string, Set<Waiter>>()
  readonly #atHost = new Map<string, number>()
  /** How many fetches one account has running at one host. */
  readonly #atBoth = new Map<string, number>()
  #left = FETCHES_AT_ONCE

  constructor(waiting: readonly HostFetch[], running: Iterable<HostFetch>, turns: Turns) {
    this.#turns = turns
    const accounts = new Map<AccountId, Waiter>()
    for (const fetch of waiting) {
      const { accountId } = fetch.wanted
      const waiter = accounts.get(accountId) ?? { accountId, fetches: [], running: 0, turn: turns.of(accountId) }
      accounts.set(accountId, waiter)
      waiter.fetches.push(fetch)
      const others = this.#waitersAt.get(fetch.host)
      if (others) others.add(waiter)
      else this.#waitersAt.set(fetch.host, new Set([waiter]))
    }
    for (const fetch of running) this.#count(fetch, accounts.get(fetch.wanted.accountId))
    this.#waiters = [...accounts.values()].sort(byTurn)
    turns.keepOnly(accounts)
  }

  /** The next one, which counts as running from now on; null when no other may begin. */
  next(): HostFetch | null {
    if (this.#left <= 0) return null
    for (const [at, waiter] of this.#waiters.entries()) {
      const fetch = waiter.running < PER_ACCOUNT ? this.#nextOf(waiter) : null
      if (!fetch) continue
      this.#count(fetch, waiter)
      waiter.turn = this.#turns.take(waiter.accountId)
      this.#waiters.splice(at, 1)
      const later = this.#waiters.findIndex((each) => byTurn(each, waiter) > 0)
      this.#waiters.splice(later === -1 ? this.#waiters.length : later, 0, waiter)
      return fetch
    }
    return null
  }

  #nextOf(waiter: Waiter): HostFetch | null {
    const full = new Set<string>()
    for (const [at, { host }] of waiter.fetches.entries()) {
      if (full.has(host)) continue
      if (this.#hasRoom(waiter, host)) return waiter.fetches.splice(at, 1)[0] ?? null
      full.add(host)
    }
    return null
  }

  #hasRoom({ accountId }: Waiter, host: string): boolean {
    const own = this.#ownAt(accountId, host)
    if (own >= PER_HOST_OF_ACCOUNT || (this.#atHost.get(host) ?? 0) >= PER_HOST) return false
    return own === 0 || !this.#isAwaitedByOthers(host)
  }

  /** True when an account that has room for it waits for its first place there. */
  #isAwaitedByOthers(host: string): boolean {
    for (const { accountId, running } of this.#waitersAt.get(host) ?? [])
      if (running < PER_ACCOUNT && this.#ownAt(accountId, host) === 0) return true
    return false
  }

  #count({ wanted: { accountId }, host }: HostFetch, waiter: Waiter | undefined): void {
    if (waiter) waiter.running += 1
    this.#atHost.set(host, (this.#atHost.get(host) ?? 0) + 1)
    this.#atBoth.set(`${accountId} ${host}`, this.#ownAt(accountId, host) + 1)
    this.#left -= 1
  }

  #ownAt(accountId: AccountId, host: string): number {
    return this.#atBoth.get(`${accountId} ${host}`) ?? 0
  }
}

/** Hosts at which the running fetches leave no room. */
export function findFullHosts(running: Iterable<HostFetch>): readonly FullHost[] {
  const atHost = Map.groupBy(running, ({ host }) => host)
  return [...atHost].flatMap(([host, fetches]): FullHost[] => {
    if (fetches.length >= PER_HOST) return [{ accountId: null, host }]
    const ofAccounts = Map.groupBy(fetches, ({ wanted }) => wanted.accountId)
    return [...ofAccounts]
      .filter(([, own]) => own.length >= PER_HOST_OF_ACCOUNT)
      .map(([accountId]) => ({ accountId, host }))
  })
}

function byTurn(a: Waiter, b: Waiter): number {
  return a.running - b.running || a.turn - b.turn
}
