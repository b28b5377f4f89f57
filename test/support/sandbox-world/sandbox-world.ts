import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readInboxEntry } from '../../../src/channels/sandbox/inbox.ts'
import { createSandbox } from '../../../src/channels/sandbox/index.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { Handover, Outcome, Receipt } from '../../../src/core/ports/channel.ts'
import type { ChannelState, MemoryEntry } from '../../../src/core/ports/channel-state.ts'
import { HandClock } from '../../conformance/hand-clock.ts'

/** A recipient that is not a command. */
export const ANY_RECIPIENT = '15550001234'
const folders: string[] = []

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

class FakeMemory implements ChannelState {
  readonly entries: (MemoryEntry & { kind: string; remindAt?: number })[] = []
  isBroken = false
  refusesKind: string | null = null
  queries = 0
  #position = 0

  async add(
    kind: string,
    {
      isWanted = () => true,
      ...entry
    }: Omit<MemoryEntry, 'position'> & { remindAt?: number; isWanted?: () => boolean },
  ): Promise<boolean> {
    if (this.isBroken || kind === this.refusesKind) throw new Error('storage is away')
    if (!isWanted()) return false
    if (await this.find(kind, entry.connectionId, entry.key)) return false
    this.#position += 1
    this.entries.push({ kind, position: this.#position, ...entry })
    return true
  }

  async find(kind: string, connectionId: ConnectionId, key: string): Promise<MemoryEntry | null> {
    return (
      this.entries.find((each) => each.kind === kind && each.connectionId === connectionId && each.key === key) ?? null
    )
  }

  async list(kind: string, { after, limit }: { after: number; limit: number }): Promise<readonly MemoryEntry[]> {
    return this.entries.filter((each) => each.kind === kind && each.position > after).slice(0, limit)
  }

  async due(kind: string, now: number, limit: number): Promise<readonly MemoryEntry[]> {
    this.queries += 1
    const due = this.entries.filter((each) => each.kind === kind && (each.remindAt ?? Number.POSITIVE_INFINITY) <= now)
    return due.sort((a, b) => (a.remindAt ?? 0) - (b.remindAt ?? 0)).slice(0, limit)
  }

  // The sandbox calls neither of these.
  findSome(): Promise<never> {
    throw new Error('no test asks for several')
  }

  dueByTurns(): Promise<never> {
    throw new Error('no test asks for turns')
  }

  async remove(kind: string, position: number): Promise<void> {
    const at = this.entries.findIndex((each) => each.kind === kind && each.position === position)
    if (at >= 0) this.entries.splice(at, 1)
  }
}

/** The sandbox of one worker. Worlds created with the same parts share the sandbox's state and the time. */
export function createWorld(
  before: { memory: FakeMemory; clock: HandClock } = { memory: new FakeMemory(), clock: new HandClock() },
) {
  const { memory, clock } = before
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-sandbox-'))
  folders.push(folder)
  const crashed: string[] = []
  const receipts: Receipt[] = []
  const state = { refusesReceipts: false, stillHolds: true }
  const channel = createSandbox({
    memory,
    clock,
    mediaFolder: join(folder, 'copies'),
    mediaBytes: 1_000,
    crash: (id) => crashed.push(id),
  })
  void channel.start({
    async receipt(receipt) {
      if (state.refusesReceipts) throw new Error('storage is away')
      receipts.push(receipt)
    },
    offerReceipt: () => Promise.reject(new Error('the sandbox waits')),
    sendAgain: () => Promise.reject(new Error('the sandbox repeats nothing')),
  })
  const send = (to: string, given: Partial<Handover> = {}, signal = new AbortController().signal) =>
    channel.send({ ...handover(to), startedAt: clock.now(), ...given }, signal, () => state.stillHolds)
  const reconcile = (to: string, attemptNumber = 1) => channel.reconcile({ ...handover(to), attemptNumber })
  const inbox = () =>
    memory.entries.flatMap(({ kind, value }) => (kind === 'inbox' ? (readInboxEntry(value) ?? []) : []))
  return Object.assign(state, { channel, send, reconcile, inbox, memory, clock, receipts, crashed, folder })
}

function handover(to: string): Handover {
  return {
    messageId: `message to ${to}` as MessageId,
    accountId: 'account' as AccountId,
    connectionId: 'connection' as ConnectionId,
    from: '15550001000',
    to,
    content: { type: 'message', text: 'Hello' },
    media: null,
    attemptNumber: 1,
    startedAt: 0,
    settings: {},
  }
}

export function failureOf(outcome: Outcome): [string, string] | null {
  return outcome.kind === 'rejected' ? [outcome.failure.class, outcome.failure.code] : null
}
