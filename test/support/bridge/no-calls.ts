import type { GuardedCall } from '../../../src/core/ports/guarded-call.ts'

/** For tests in which no adapter is called. */
export const NO_CALLS: GuardedCall = { call: () => Promise.reject(new Error('no adapter is called here')) }
