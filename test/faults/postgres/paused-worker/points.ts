/**
 * The points at which a worker can be stopped. “On its way”: a statement was written to the database's socket, and no reply has
 * been read.
 */
export const POINTS = [
  'before-claim',
  'claim-on-its-way',
  'after-claim',
  'before-fetch-next',
  'after-fetch-next',
  'before-first-open',
  'record-on-its-way',
  // Between the reply that an attempt is committed and the call of the channel.
  'after-first-open',
  'before-close-and-open',
  'after-close-and-open',
  'before-close',
  'after-close',
  // After a rejection, before the message is kept for a retry.
  'before-keep',
  'after-keep',
  'before-await-evidence',
  'after-await-evidence',
  'before-drop',
  'after-drop',
  // After the last check of the claim.
  'before-call',
  // While the network works on the call.
  'inside-call',
  'delivery-on-its-way',
  'after-call',
  'before-heartbeat',
  'heartbeat-on-its-way',
  'after-heartbeat',
  'before-release',
  'after-release',
  'before-receipt',
  'after-receipt',
  'inside-media-fetch',
  'before-media-ready',
  'accept-on-its-way',
] as const
export type Point = (typeof POINTS)[number]

/**
 * Names the file that says where a worker stops, for `stop-at-points.ts`. The worker answers in the same file with `.report`
 * added.
 */
export const ORDERS_VARIABLE = 'FAULT_STOP_ORDERS'
/** If set, the worker never checks its claim before it calls. This is the negative control. */
export const CARELESS_VARIABLE = 'FAULT_CARELESS'
