// A worker loads this file before anything else. It makes the worker sweep old rows all the time instead of once an hour.

import { AsyncLocalStorage } from 'node:async_hooks'
import { RetentionJob } from '../../../src/core/retention/retention-job.ts'
import { wrap } from '../postgres/wrap.ts'

// Longer than anything else that a sweep waits for, such as a reply of the database.
const LONG_MS = 40_000
const SHORT_MS = 50

const ofRetentionJob = new AsyncLocalStorage<true>()
const { setTimeout } = globalThis

wrap(RetentionJob.prototype, 'start', (call) => ofRetentionJob.run(true, call))
globalThis.setTimeout = Object.assign(
  (call: (...given: unknown[]) => void, delayMs?: number, ...given: unknown[]) =>
    setTimeout(call, ofRetentionJob.getStore() && (delayMs ?? 0) >= LONG_MS ? SHORT_MS : delayMs, ...given),
  setTimeout,
) as typeof setTimeout
