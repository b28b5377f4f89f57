// A worker loads this file before anything else. It records each call of the channel when it begins: a call that fails leaves no
// trace in the inbox, and what a worker without a database wants to record is lost.

import { appendFileSync } from 'node:fs'
import { ChannelCall } from '../../../../src/core/dispatch/lane/attempt.ts'
import type { Handover } from '../../../../src/core/ports/channel.ts'
import { wrap } from '../wrap.ts'
import { CALLS_VARIABLE } from './call-notes.ts'

const file = process.env[CALLS_VARIABLE] ?? ''

wrap(ChannelCall.prototype, 'run', (call, [, handover]) => {
  const { from } = handover as Handover
  appendFileSync(file, `${Date.now()} ${from}\n`)
  return call()
})
