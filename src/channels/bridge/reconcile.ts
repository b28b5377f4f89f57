import { randomUUID } from 'node:crypto'
import type { Evidence, OpenQuestion } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { Echoes } from '../receipts/echoes.ts'
import { type Adapter, type AdapterClient, openAdapter, withoutSecrets } from './adapter-client.ts'
import type { BrokenPromises } from './broken-promises.ts'
import { type AdapterEvidence, answersForOther, attemptIdOf, parseEvidence, storedNetworkId } from './protocol.ts'
import type { RejectedAttempts } from './rejected-attempts.ts'
import { readBridgeSettings } from './settings.ts'
import { CLOCK_TOLERANCE_SECONDS } from './signing.ts'

interface ReconcileParts {
  readonly client: AdapterClient
  readonly connections: ChannelConnections
  readonly echoes: Echoes
  readonly rejectedAttempts: RejectedAttempts
  readonly brokenPromises: BrokenPromises
  readonly secrets: Secrets
  readonly clock: Clock
}

const EVIDENCE_MS = 10_000
const NOTHING_YET: Evidence = { kind: 'nothing-yet' }
const NOTHING_EVER: Evidence = { kind: 'nothing-ever' }

/** Finds out what became of an attempt, from its reports and from the adapter. Never throws. */
export async function findEvidence(parts: ReconcileParts, open: OpenQuestion): Promise<Evidence> {
  try {
    const echo = await parts.echoes.find(open)
    return echo.kind === 'nothing-yet' ? await askAdapter(parts, open) : echo
  } catch {
    // Storage logs by itself that it is away. It is asked again.
    return NOTHING_YET
  }
}

async function askAdapter(parts: ReconcileParts, open: OpenQuestion): Promise<Evidence> {
  const { client, connections, secrets, clock } = parts
  const connection = await connections.find(open.connectionId)
  if (!connection) return NOTHING_EVER
  const { sendTimeoutMs, evidenceWaitMs } = readBridgeSettings(connection.settings)
  // The attempt may have ended long before its time was over, but not after it.
  const isOver = clock.now() - open.startedAt > sendTimeoutMs + evidenceWaitMs
  const unanswered = isOver || evidenceWaitMs === 0 ? NOTHING_EVER : NOTHING_YET
  const adapter = openAdapter(connection, secrets)
  if (!adapter) return unanswered
  const attemptId = attemptIdOf(open)
  const end = await client.call(
    adapter,
    {
      operation: 'evidence',
      method: 'GET',
      path: `/v1/attempts/${attemptId}?startedAt=${open.startedAt}`,
      id: `evi_${attemptId}_${randomUUID()}`,
      body: null,
      timeoutMs: EVIDENCE_MS,
    },
    { signal: new AbortController().signal },
  )
  const answer = end.kind === 'signed' ? parseEvidence(end.value, attemptId) : null
  if (!answer) {
    if (end.kind === 'signed' && answersForOther(end.value, attemptId))
      await parts.brokenPromises.keep('other-answer', open).catch(() => {})
    return unanswered
  }
  const evidence = evidenceOf(answer, { open, adapter, unanswered })
  // Stored as a promise that the adapter must keep. If a crash loses it, the message still counts as not sent.
  if (evidence.kind === 'not-sent') await parts.rejectedAttempts.keep(open, clock.now()).catch(() => {})
  return evidence
}

interface Asked {
  readonly open: OpenQuestion
  readonly adapter: Adapter
  readonly unanswered: Evidence
}

function evidenceOf(answer: AdapterEvidence, { open, adapter, unanswered }: Asked): Evidence {
  const words = withoutSecrets(answer.words, adapter)
  switch (answer.state) {
    case 'accepted':
      return { kind: 'accepted', networkId: storedNetworkId(answer.networkId ?? '') }
    case 'rejected':
      return { kind: 'not-sent', words: words ?? 'The adapter says that its gateway did not take it.' }
    case 'not_received':
      // Not taken on trust: a log that begins after the attempt shows nothing about it.
      return answer.logSince < open.startedAt - CLOCK_TOLERANCE_SECONDS * 1_000
        ? { kind: 'not-sent', words: 'The adapter did not receive it, and takes it no more.' }
        : NOTHING_EVER
    case 'pending':
      return unanswered
    case 'unknown':
    case 'forgotten':
      return NOTHING_EVER
  }
}
