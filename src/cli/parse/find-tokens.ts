import type { AccountId, TokenId } from '../../core/ids.ts'
import type { Administration } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { TOKEN_START, tokenPrefix } from '../../core/token/token-format.ts'

/**
 * All tokens that an id, a prefix or a name fits: the log of a name is also that of the deleted tokens that had it.
 * Null, meaning all tokens, when none is named.
 */
export async function findTokensOrAll(
  administration: Administration,
  accountId: AccountId | null,
  wanted: string | undefined,
): Promise<readonly TokenId[] | null> {
  if (wanted === undefined) return null
  const tokens = await administration.listTokens(accountId)
  // An id names one token for ever, whatever names and prefixes others have.
  if (tokens.some(({ id }) => id === wanted)) return [wanted as TokenId]
  const prefix = wanted.startsWith(TOKEN_START) ? tokenPrefix(wanted) : wanted
  const fitting = tokens.filter((token) => token.name === wanted || token.prefix === prefix)
  if (fitting.length > 0) return fitting.map(({ id }) => id)
  // A whole token must not be said back: what is printed ends up in files.
  const which = wanted.startsWith(TOKEN_START) ? `${TOKEN_START}${prefix}…` : wanted
  throw new Refusal('token_unknown', `There is no token with the id, prefix or name “${which}”.`)
}
