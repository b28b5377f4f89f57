import type { GuardedCall } from '../../../src/core/ports/guarded-call.ts'

/** For tests of what calls no adapter. */
export const NO_CALLS: GuardedCall = { call: () => Promise.reject(new Error('no adapter is called here')) }
