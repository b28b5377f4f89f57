declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

export type AccountId = Branded<'account'>
export type ConnectionId = Branded<'connection'>
export type TokenId = Branded<'token'>
/** A UUID version 7, so that ids sort roughly by time. It reveals nothing about how many messages other accounts sent. */
export type MessageId = Branded<'message'>
export type WorkerId = Branded<'worker'>
/** Names a spool: the folder for fetched media of all processes that share a data folder. */
export type SpoolId = Branded<'spool'>

/** Milliseconds since 1970-01-01 UTC, by the wall clock. */
export type Instant = number
