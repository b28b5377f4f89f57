// A worker loads this file before anything else. It stops the whole process, as a hypervisor may at any time, at a point that a
// file names. It changes nothing else: everything is wrapped from outside.

// Must come before the sources below, which build sentences while they are loaded.
import '../../../support/black-box/apply-command-prefix.ts'

import { appendFileSync, readFileSync } from 'node:fs'
import { Client } from 'pg'
import { SandboxInbox } from '../../../../src/channels/sandbox/inbox.ts'
import { ChannelCall } from '../../../../src/core/dispatch/lane/attempt.ts'
import { WorkerLease } from '../../../../src/core/dispatch/workers/lease.ts'
import type { LaneTransition } from '../../../../src/core/ports/lanes.ts'
import { PostgresLanes } from '../../../../src/storage/postgres/lanes/lanes.ts'
import { PostgresMediaQueue } from '../../../../src/storage/postgres/media/media-queue.ts'
import { wrap } from '../wrap.ts'
import { CARELESS_VARIABLE, ORDERS_VARIABLE, type Point } from './points.ts'

const POLL_EVERY_MS = 20
const INSIDE_MS = 15
const INSIDE_FETCH_MS = 100

const file = process.env[ORDERS_VARIABLE] ?? ''
let handled = 0
let wanted: string | null = null

function readOrders(): void {
  const [number = '0', point = ''] = readOrEmpty(file).split(' ')
  if (Number(number) <= handled) return
  handled = Number(number)
  wanted = point
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function reach(point: Point): void {
  if (point !== wanted) return
  wanted = null
  appendFileSync(`${file}.report`, `${handled} ${point}\n`)
  process.kill(process.pid, 'SIGSTOP')
}

function reachLater(point: Point, delayMs: number): void {
  if (point === wanted) setTimeout(() => reach(point), delayMs)
}

/** Stops before a method is called, and again when it has its result and its caller has not continued. */
function around(
  prototype: object,
  method: string,
  name: (args: readonly unknown[], result?: unknown) => string | null,
) {
  wrap(prototype, method, (call, args) => {
    reach(`before-${name(args)}` as Point)
    return Promise.resolve(call()).then((result) => {
      reach(`after-${name(args, result)}` as Point)
      return result
    })
  })
}

function kindOf(step: LaneTransition): string {
  if (step.discard) return 'drop'
  if (!step.finish) return step.start ? 'first-open' : 'memory'
  const { disposition } = step.finish
  if (disposition.do === 'await-evidence') return 'await-evidence'
  if (disposition.do === 'keep-queued') return 'keep'
  return step.start ? 'close-and-open' : 'close'
}

const ON_ITS_WAY: readonly (readonly [text: string, Point])[] = [
  ['from claim_lanes(', 'claim-on-its-way'],
  ['write_steps(', 'record-on-its-way'],
  ['remember_entries(', 'delivery-on-its-way'],
  ['from renew_lease(', 'heartbeat-on-its-way'],
  ['accept_requests(', 'accept-on-its-way'],
]

setInterval(readOrders, POLL_EVERY_MS).unref()

wrap(Client.prototype, 'query', (call, [statement]) => {
  const result = call()
  const text = typeof statement === 'string' ? statement : String((statement as { text?: string }).text)
  for (const [part, point] of ON_ITS_WAY) if (text.includes(part)) reach(point)
  return result
})

const { prototype: lanes } = PostgresLanes
around(lanes, 'claim', (_, claimed) => (Array.isArray(claimed) && claimed.length === 0 ? null : 'claim'))
around(lanes, 'fetchNext', () => 'fetch-next')
around(lanes, 'record', ([step]) => kindOf(step as LaneTransition))
around(lanes, 'heartbeat', () => 'heartbeat')
around(lanes, 'release', () => 'release')
around(lanes, 'applyReceipt', () => 'receipt')
around(PostgresMediaQueue.prototype, 'ready', () => 'media-ready')
wrap(PostgresMediaQueue.prototype, 'take', (call) => {
  reachLater('inside-media-fetch', INSIDE_FETCH_MS)
  return call()
})
around(ChannelCall.prototype, 'run', () => 'call')
wrap(ChannelCall.prototype, 'run', (call) => {
  reachLater('inside-call', INSIDE_MS)
  return call()
})

if (process.env[CARELESS_VARIABLE]) {
  WorkerLease.prototype.isHeld = () => true
  // Unlike the sandbox, most networks let a late call through after they were asked for evidence about it.
  SandboxInbox.prototype.settle = () => Promise.resolve(null)
}
