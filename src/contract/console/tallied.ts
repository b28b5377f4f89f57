/**
 * What became of what was asked for, as far as the overview tells it apart. `published` is also what was delivered or
 * read since, `waiting` also what is being sent. `refused` are requests that made no message.
 */
export const TALLIED = ['published', 'waiting', 'failed', 'unconfirmed', 'expired', 'cancelled', 'refused'] as const
