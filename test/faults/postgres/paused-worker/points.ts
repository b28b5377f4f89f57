/** Where a worker can be made to stop. What is on its way was written to the database's socket, and nothing was read since. */
export const POINTS = [
  'before-claim',
  'claim-on-its-way',
  'after-claim',
  'before-fetch-next',
  'after-fetch-next',
  'before-first-open',
  'record-on-its-way',
  // Between the answer that an attempt is committed and the call of the channel.
  'after-first-open',
  'before-close-and-open',
  'after-close-and-open',
  'before-close',
  'after-close',
  // After a refusal, before the message is tried again.
  'before-keep',
  'after-keep',
  'before-await-evidence',
  'after-await-evidence',
  'before-drop',
  'after-drop',
  // After the last check of the claim.
  'before-call',
  // While the network takes its time.
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

/** Names the file that says where a worker stops, for `stop-at-points.ts`. It answers in the file of the same name and `.report`. */
export const ORDERS_VARIABLE = 'FAULT_STOP_ORDERS'
/** Set: the worker never checks its claim before it calls. The negative control. */
export const CARELESS_VARIABLE = 'FAULT_CARELESS'
