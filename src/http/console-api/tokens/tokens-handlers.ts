import { hash } from 'node:crypto'
import { TOKEN_NAME, type TokenActivityReply, type tokenRoutes } from '../../../contract/console/tokens.ts'
import type { ConnectionId, Instant, TokenId } from '../../../core/ids.ts'
import type { TokenActivity } from '../../../core/ports/console/tokens.ts'
import { readOneLine } from '../../../core/read-one-line.ts'
import { Refusal, readParts } from '../../../core/refusals.ts'
import { readBoundConnections } from '../../../core/token/bound-connections.ts'
import { expirationAt } from '../../../core/token/expiration.ts'
import { oldEndAt, refuseEnded } from '../../../core/token/rotation.ts'
import { TOKEN_EVENT_NAMES, TOKEN_EVENTS } from '../../../core/token/token.ts'
import { createToken, tokenPrefix } from '../../../core/token/token-format.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { readEvents, readSourceRanges } from './read-token-form.ts'

const SEND_PATH = '/chat/api/v1/public/message/send'
const DAY_MS = 86_400_000
const ACTIVITY_CACHED_FOR_MS = 30 * DAY_MS

type Deps = Pick<ConsoleDeps, 'store' | 'publicUrl' | 'randomBytes'>
type TokenHandlers = Handlers<typeof tokenRoutes>

export function tokensHandlers(deps: Deps): TokenHandlers {
  return { ...viewing(deps), ...changing(deps) }
}

function viewing({
  store: { tokens },
  publicUrl,
}: Deps): Pick<TokenHandlers, 'listTokens' | 'countTokenUse' | 'describeTokenForm' | 'readToken' | 'describeTokenUse'> {
  return {
    async listTokens({ query: { tab, after = null } }, { accountId }) {
      return mutable(await tokens.listTokenRows(accountId, { tab, after }))
    },
    async countTokenUse({ query: { token } }, { accountId, now }) {
      const since = now - DAY_MS
      const use = await tokens.countTokenUse(accountId, { tokenId: (token as TokenId) ?? null, since })
      return mutable({ since, ...use })
    },
    async describeTokenForm(_, { accountId }) {
      const connections = await tokens.listTokenConnections(accountId)
      return mutable({ events: TOKEN_EVENT_NAMES.map(describeEvent), connections, endpoint: publicUrl + SEND_PATH })
    },
    async readToken({ params: { id } }, { accountId }) {
      return mutable(await tokens.readToken(accountId, id as TokenId))
    },
    async describeTokenUse({ params: { id } }, { accountId, now }) {
      const since = now - ACTIVITY_CACHED_FOR_MS
      return sumUp(await tokens.describeTokenUse(accountId, id as TokenId, since), since)
    },
  }
}

function changing({
  store: { tokens, administration },
  randomBytes,
}: Deps): Pick<TokenHandlers, 'createToken' | 'renameToken' | 'rotateToken' | 'deleteToken'> {
  return {
    async createToken({ body }, { accountId, actor, now }) {
      const { token, ...kept } = generateToken(randomBytes)
      const own = await tokens.listTokenConnections(accountId)
      const read = await readParts({
        async name() {
          const name = readOneLine(body.name, TOKEN_NAME, 'name')
          await tokens.refuseTakenName(accountId, name)
          return name
        },
        expiresAt: () => expirationAt(body.expiration, body.expiresAt, now),
        events: () => readEvents(body.events),
        connectionIds: () => readBoundConnections(body.connectionIds as ConnectionId[] | null, own),
        sourceRanges: () => body.sourceRanges && readSourceRanges(body.sourceRanges),
      })
      return mutable({ token, details: await tokens.createBoundToken({ accountId, ...read, ...kept }, actor) })
    },
    async renameToken({ params, body }, { accountId, actor }) {
      return mutable(await tokens.renameToken(accountId, { id: params.id as TokenId, name: body.name }, actor))
    },
    async rotateToken({ params, body }, { accountId, actor, now }) {
      const { token, ...kept } = generateToken(randomBytes)
      const id = params.id as TokenId
      const old = await tokens.readToken(accountId, id)
      refuseEnded(old, now)
      const ends = await readParts({
        expiresAt: () => expirationAt(body.expiration, body.expiresAt, now),
        oldEndsAt: () => oldEndAt(body.oldEndsAt, old, now),
      })
      return mutable({ token, details: await tokens.rotateToken(accountId, { id, ...ends, ...kept }, actor) })
    },
    async deleteToken({ params, body }, { accountId, actor }) {
      // By id alone: `deleteToken` also accepts names and prefixes, which are not meant here.
      const { id, name } = await tokens.readToken(accountId, params.id as TokenId)
      if (body.name.trim() !== name) throw new Refusal('token_name_differs', undefined, 'name')
      await administration.deleteToken(id, accountId, actor)
      return { done: true }
    },
  }
}

function describeEvent(event: keyof typeof TOKEN_EVENTS) {
  const [group = '', name = ''] = TOKEN_EVENTS[event].split(' > ')
  return { event, group, name, about: ABOUT[event], endpoint: `POST ${SEND_PATH}` }
}

const ABOUT: Readonly<Record<keyof typeof TOKEN_EVENTS, string>> = {
  'messaging.send_message': 'Queue a text, image, document, video or audio message.',
}

function sumUp({ callers, activity, ...counted }: TokenActivity, since: Instant): TokenActivityReply {
  const made = activity.filter(({ status }) => status === null)
  const refused = activity.filter(({ status }) => status !== null)
  return mutable({
    since,
    ...counted,
    callers: callers.slice(0, MOST_SHOWN),
    requests: callers.reduce((sum, { requests }) => sum + requests, 0),
    accepted: made.reduce((sum, { count }) => sum + count, 0),
    refused: refused.reduce((sum, { count }) => sum + count, 0),
    numbers: tally(made.map(({ number, count }) => [number, count])),
    types: tally(made.map(({ type, count }) => [type, count])),
    results: tally(activity.map(({ state, status, count }) => [status === null ? state : `Refused ${status}`, count])),
  })
}

const MOST_SHOWN = 50

function tally(counted: readonly (readonly [string | null, number])[]) {
  const sums = new Map<string | null, number>()
  for (const [value, count] of counted) sums.set(value, (sums.get(value) ?? 0) + count)
  return [...sums]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count)
    .slice(0, MOST_SHOWN)
}

type Mutable<Value> = Value extends string | number | boolean | null
  ? Value
  : { -readonly [Key in keyof Value]: Mutable<Value[Key]> }

/** Values made for this reply alone, with the mutable type of replies. */
function mutable<Value>(value: Value): Mutable<Value> {
  return value as Mutable<Value>
}

/** A new token, and the parts of it that are stored. */
function generateToken(randomBytes: (count: number) => Buffer): {
  token: string
  sha256: Buffer
  prefix: string
} {
  const token = createToken(randomBytes)
  return { token, sha256: hash('sha256', token, 'buffer'), prefix: tokenPrefix(token) }
}
