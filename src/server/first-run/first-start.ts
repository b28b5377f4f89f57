import { hash, randomBytes } from 'node:crypto'
import type { Settings } from '../../config/read-settings.ts'
import { DEFAULT_LANE_POLICY } from '../../core/connection/lane-policy.ts'
import { type AccountView, type Administration, FIRST_START_ACTOR } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { createToken, tokenPrefix } from '../../core/token/token-format.ts'
import { openAdministration } from '../wiring/open-administration.ts'

const NUMBER = '15550001000'
const TOKEN_DAYS = 30

/** What the first start made, or null when there was an account already. */
export interface FirstStart {
  /** Null at a quiet start. */
  readonly token: string | null
  readonly number: string
}

/**
 * Fills an empty database with an account, a sandbox connection and, unless the start is quiet, a token, so that the first
 * message needs only one paste.
 */
export async function prepareFirstStart(settings: Settings, now: number): Promise<FirstStart | null> {
  const session = await openAdministration(settings, { create: true })
  try {
    const { administration } = session
    if ((await administration.listAccounts()).length > 0) return null
    const account = await createFirstAccount(administration)
    if (!account) return null
    await administration.addConnection(
      { accountId: account.id, number: NUMBER, channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} },
      FIRST_START_ACTOR,
    )
    const token = settings.quietFirstStart ? null : await makeToken(administration, account, now)
    return { token, number: NUMBER }
  } finally {
    await session.close()
  }
}

async function makeToken(administration: Administration, { id }: AccountView, now: number): Promise<string> {
  const token = createToken(randomBytes)
  await administration.createToken(
    {
      accountId: id,
      name: 'first token',
      events: ['messaging.send_message'],
      expiresAt: now + TOKEN_DAYS * 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: hash('sha256', token, 'buffer'),
      prefix: tokenPrefix(token),
    },
    FIRST_START_ACTOR,
  )
  return token
}

/** Null when another machine that starts at the same moment was faster. */
async function createFirstAccount(administration: Administration): Promise<AccountView | null> {
  try {
    return await administration.createAccount('Default', FIRST_START_ACTOR)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'account_exists') return null
    throw error
  }
}
