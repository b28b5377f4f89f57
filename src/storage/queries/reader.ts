import type { Kysely, Transaction } from 'kysely'
import type { Tables } from './tables.generated.ts'

/** The database, or an open transaction of it. */
export type Reader = Kysely<Tables> | Transaction<Tables>
