import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import type { AccountId, ConnectionId, MessageId, SpoolId, TokenId, WorkerId } from '../../../src/core/ids.ts'
import type { QueuedMessage } from '../../../src/core/message/message.ts'
import type { Receipt } from '../../../src/core/ports/channel.ts'
import type { Candidate } from '../../../src/core/ports/intake.ts'
import type { ClaimedLane, LaneTransition } from '../../../src/core/ports/lanes.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { countWaiting } from '../../../src/storage/postgres/accept/backlog.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { runMaintenance } from '../../../src/storage/postgres/retention/maintenance.ts'
import { SENDABLE } from '../../support/sendable.ts'
import { ACCOUNTS, LANES } from './fill-database.ts'
import type { SomeMessage } from './grown-database.ts'

const SPOOL = 'spool' as SpoolId

/** One process on the database, without its timers. */
export class DispatchingProcess {
  readonly storage: PostgresStorage
  readonly #worker = `worker-${randomUUID()}` as WorkerId
  readonly #session: Client
  readonly #folder = mkdtempSync(join(tmpdir(), 'nuncio-growth-'))

  constructor(url: string, session: Client) {
    this.#session = session
    this.storage = new PostgresStorage({
      url,
      listenUrl: url,
      migrateUrl: url,
      dataDir: this.#folder,
      clock: systemClock,
      worker: { id: this.#worker, host: 'here', pid: process.pid, roles: ['api', 'dispatch'], version: '0' },
      spool: SPOOL,
      limits: { maxWaitingPerConnection: 2_000, maxWaitingPerAccount: 1_000_000 },
      sendable: () => SENDABLE,
      onError: () => {},
    })
  }

  async close(): Promise<void> {
    await this.storage.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Accepts what clients send: new messages, repeats, mistakes. */
  async accept(round: number): Promise<void> {
    const { intake } = this.storage
    await this.storage.lanes.renewLease()
    await intake.findToken(createHash('sha256').update('token 1').digest())
    await intake.namesMessage('acc1' as AccountId, 'key-1')
    intake.isBacklogFull('acc2' as AccountId, '15550000002')
    const texts = Array.from({ length: 20 }, (_, i) => this.#candidate(round * 20 + i))
    const media = Array.from({ length: 3 }, (_, i) => this.#candidate(500 + i, { isMedia: true }))
    const keyed = this.#candidate(round, { key: randomUUID() })
    await Promise.all([...texts, ...media, keyed].map((candidate) => intake.accept(candidate)))
    await Promise.all([
      intake.accept(keyed),
      intake.accept({ ...keyed, idempotency: { ...keyed.idempotency!, fingerprint: 'another' } }),
      intake.accept({ ...keyed, from: 'unknown', idempotency: null }),
    ])
    const { facts, accountId, tokenId, body } = keyed
    await intake.logRefused({ facts, accountId, tokenId, status: 400, code: 'HC-2', errors: '[]', body })
  }

  /** Does what lanes do: they are claimed, send, fail, wait, and are released. */
  async dispatch(round: number): Promise<void> {
    const { lanes } = this.storage
    const mine = Array.from({ length: 20 }, (_, i) => `con${(round * 20 + i) % LANES}` as ConnectionId)
    const request = { worker: this.#worker, held: new Set<ConnectionId>(), shouldDefer: () => false }
    await lanes.claim({ ...request, only: null, limit: 5 })
    const claimed = await lanes.claim({ ...request, only: mine, limit: 20 })
    await Promise.all(
      claimed.map(async (lane, at) => {
        const run = await lanes.fetchNext(lane.connectionId, 5, 0)
        await this.#send(lane, run as [QueuedMessage, QueuedMessage, QueuedMessage], at)
        await lanes.inspect(lane)
      }),
    )
    await this.#sendAlone(claimed[0]!)
    await lanes.release(claimed)
    await lanes.expire(100)
    await lanes.deleteLease(this.#worker)
    await lanes.renewLease()
  }

  /**
   * Reports receipts about messages of several days, a waiting one and two unknown ones: once by our ids, and once by those of
   * the network.
   */
  async reportReceipts(messages: readonly SomeMessage[]): Promise<void> {
    const [{ connectionId }] = messages as [SomeMessage]
    const unknown = ['01999999-0000-7000-8000-000000000000', 'unknown'].map((id) => ({
      id: id as MessageId,
      connectionId,
    }))
    for (const kind of ['delivered', 'read'] as const)
      await Promise.all([...messages, ...unknown].map((message) => this.report(message, kind)))
    await Promise.all(messages.map((message, i) => this.report({ ...message, id: null }, 'read', `wamid.${i}`)))
  }

  async report(
    { id, connectionId }: { readonly id: MessageId | null; readonly connectionId: ConnectionId },
    kind: Receipt['kind'],
    networkId: string | null = null,
  ): Promise<void> {
    const { lanes, clock } = this.storage
    const about = { connectionId, messageId: id, attemptNumber: null, networkId }
    await lanes.applyReceipt({ ...about, kind, at: clock.now(), code: null, words: null })
  }

  async fetchMedia(): Promise<void> {
    const { mediaQueue, clock } = this.storage
    const at = clock.now()
    const limits = { fullHosts: [], accountsAtOnce: 10, perAccount: 3, quotaBytes: 1e12 }
    const { media } = await mediaQueue.due({ now: at, busy: new Set(), after: null, ...limits })
    const taken = await mediaQueue.take(media.slice(0, 4).map(({ sequence }) => sequence))
    await mediaQueue.checkHeads(media.map(({ sequence }) => sequence))
    const [first, second, third] = taken.map(({ sequence }) => sequence)
    const file = { path: 'a/b', sizeBytes: 10, sha256: 'sha', mime: 'image/png' }
    const trial = { code: 'media_unreachable', words: 'no', at }
    await mediaQueue.ready(first!, { file, tookMs: 5, at })
    await mediaQueue.retry(second!, { ...trial, nextTryAt: at + 1_000 })
    await mediaQueue.fail(third!, trial)
    await mediaQueue.releasable(0, 100)
    const wanted = await mediaQueue.wantedFiles(0, 100)
    await mediaQueue.lost(wanted.slice(0, 2), { at, mostTries: 3 })
    await mediaQueue.forget([third!])
    await mediaQueue.livingWorkers()
  }

  async runMaintenance(): Promise<void> {
    const ask = async (sql: string, values: readonly unknown[] = []) =>
      (await this.#session.query(sql, [...values])).rows as Record<string, unknown>[]
    await runMaintenance(ask)
    await countWaiting(ask)
    await this.storage.isEmpty()
    await this.storage.isWritable()
    this.storage.notifyPeers(['con1' as ConnectionId])
    const memory = this.storage.channelState('sandbox')
    const entry = { connectionId: 'con1' as ConnectionId, key: randomUUID(), value: '{}', at: 1, remindAt: 1 }
    await memory.add('seen', entry)
    const found = await memory.find('seen', entry.connectionId, entry.key)
    await memory.list('seen', { connectionId: null, after: 0, limit: 10 })
    await memory.due('seen', 2, 10)
    await memory.remove('seen', found!.position)
  }

  async #send(
    lane: ClaimedLane,
    run: readonly [QueuedMessage, QueuedMessage, QueuedMessage],
    at: number,
  ): Promise<void> {
    const { lanes, clock } = this.storage
    const [one, two, three] = run
    const step = (does: Partial<LaneTransition>): LaneTransition => {
      const { connectionId, accountId, epoch } = lane
      return { connectionId, accountId, epoch, at: clock.now(), finish: null, discard: null, start: null, ...does }
    }
    const opening = ({ sequence, attempts }: QueuedMessage) => ({ sequence, number: attempts + 1 })
    const ended = ({ sequence, attempts }: QueuedMessage, outcome: 'accepted' | 'rejected' | 'unknown') => {
      const said = { code: outcome === 'accepted' ? null : 'busy', words: null, networkId: 'net' }
      return { sequence, number: attempts + 1, startedAt: clock.now(), endedAt: clock.now(), outcome, ...said }
    }
    const published = { do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const
    await lanes.record(step({ start: opening(one) }))
    await lanes.record(
      step({ finish: { attempt: ended(one, 'accepted'), disposition: published }, start: opening(two) }),
    )
    if (at % 3 === 0) {
      const waiting = { do: 'await-evidence', until: clock.now() + 1_000, words: 'gone' } as const
      await lanes.record(step({ finish: { attempt: ended(two, 'unknown'), disposition: waiting } }))
    }
    const memory = { head: null, failureStreak: null, wait: { reason: 'busy', words: null, until: 1 } }
    const kept = { attempt: ended(two, 'rejected'), disposition: { do: 'keep-queued', retry: null } as const }
    await lanes.record(step({ finish: kept, memory }))
    const dropped = { sequence: three.sequence, as: 'FAILED', reason: 'message_damaged', words: null } as const
    if (three.media === null) await lanes.record(step({ discard: dropped }))
  }

  /** Records a step alone, which takes another path in the database than several steps together. */
  async #sendAlone(lane: ClaimedLane): Promise<void> {
    const { lanes, clock } = this.storage
    const [message] = await lanes.fetchNext(lane.connectionId, 1, 0)
    const { sequence, attempts } = message!
    const [at, number] = [clock.now(), attempts + 1]
    const { connectionId, accountId, epoch } = lane
    const step = { connectionId, accountId, epoch, at, discard: null }
    await lanes.record({ ...step, finish: null, start: { sequence, number } })
    const said = { outcome: 'accepted', code: null, words: null, networkId: 'net' } as const
    const attempt = { sequence, number, startedAt: at, endedAt: at, ...said }
    const disposition = { do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const
    await lanes.record({ ...step, finish: { attempt, disposition }, start: null })
  }

  #candidate(lane: number, { key, isMedia = false }: { key?: string; isMedia?: boolean } = {}): Candidate {
    const [from, url] = [String(15_550_000_000 + lane), 'https://files.example/a.png']
    const content = isMedia
      ? ({ type: 'image', name: 'a.png', url, caption: 'Hello' } as const)
      : ({ type: 'message', text: 'Hello' } as const)
    return {
      facts: {
        requestId: randomUUID(),
        receivedAt: this.storage.clock.now(),
        receivedMonotonic: performance.now(),
        remoteAddress: '192.0.2.1',
        userAgent: null,
      },
      tokenId: `tok${lane % ACCOUNTS}` as TokenId,
      accountId: `acc${lane % ACCOUNTS}` as AccountId,
      from,
      to: '15550100000',
      content,
      body: JSON.stringify({ from, to: '15550100000', message: { type: 'message', message: 'Hello' } }),
      idempotency: key === undefined ? null : { key, fingerprint: 'fingerprint' },
    }
  }
}
