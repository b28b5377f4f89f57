/**
 * The results that the overview counts. `published` includes delivered and read messages, `waiting` includes the messages
 * that are being sent. `refused` are requests that made no message.
 */
export const TALLIED = ['published', 'waiting', 'failed', 'unconfirmed', 'expired', 'cancelled', 'refused'] as const
