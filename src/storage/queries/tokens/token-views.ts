import type { TokenViews } from '../../../core/ports/console/tokens.ts'
import { readingOf, type Store } from '../store.ts'
import { createTokenChanges } from './change-token.ts'
import { listTokenConnections, listTokenRows, readToken } from './token-rows.ts'
import { countTokenUse, describeTokenUse } from './token-use.ts'

export function createTokenViews(store: Store): TokenViews {
  const reading = readingOf(store)
  return {
    listTokenRows: (accountId, which) => listTokenRows(store, accountId, which),
    readToken: (accountId, id) => readToken(reading.tables, accountId, id),
    countTokenUse: (accountId, wanted) => countTokenUse(reading, { accountId, ...wanted }),
    describeTokenUse: (accountId, tokenId, since) => describeTokenUse(reading, { accountId, tokenId, since }),
    listTokenConnections: (accountId) => listTokenConnections(reading.tables, accountId),
    ...createTokenChanges(store),
  }
}
