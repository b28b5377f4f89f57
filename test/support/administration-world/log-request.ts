import type { AccountId, MessageId, TokenId } from '../../../src/core/ids.ts'
import type { AdministrationWorld } from './open-administration-world.ts'

interface LoggedRequest {
  readonly accountId: AccountId
  readonly tokenId: TokenId
  readonly requestId: string
  readonly receivedAt?: number
  readonly status?: number
  readonly code?: string
  readonly errors?: readonly object[] | null
  readonly body?: string | null
  readonly messageId?: MessageId
  /** The row stands for this many requests since that time. */
  readonly summed?: { readonly requests: number; readonly since: number }
}

/**
 * Writes a refused request as the service logs it. With `messageId` it is a repeat of that message, with `summed` a row for many.
 */
export async function logRequest(world: AdministrationWorld, request: LoggedRequest): Promise<void> {
  const { messageId = null, body = null, status = messageId ? 200 : 400, summed } = request
  const errors = request.errors ?? [{ field: null, code: 'body_missing', message: 'The request has no body.' }]
  await world.run(
    `insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, body, message_id,
       remote_address, user_agent, summed_requests, summed_since) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    request.accountId,
    request.tokenId,
    request.requestId,
    request.receivedAt ?? world.now,
    summed ? 0 : 840,
    status,
    request.code ?? (messageId ? 'HC-1' : 'HC-2'),
    messageId ? null : JSON.stringify(errors),
    body,
    messageId,
    summed ? null : '203.0.113.9',
    summed ? null : 'curl/8',
    summed?.requests ?? null,
    summed?.since ?? null,
  )
}

/** Records which token a message came with, and from where. */
export async function cameWith(world: AdministrationWorld, sequence: number, tokenId: TokenId): Promise<void> {
  await world.database.rewriteMessage(sequence, {
    token_id: tokenId,
    remote_address: '203.0.113.9',
    user_agent: 'curl/8',
  })
}
