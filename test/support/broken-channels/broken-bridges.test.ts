import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { CallEnd, CallWanted, GuardedCall } from '../../../src/core/ports/guarded-call.ts'
import { onlyAdaptersAreBelieved, receiptsAreVerified } from '../../conformance/channel/bridge-attacks.ts'
import { type BridgeWorld, newBridgeWorld } from '../../conformance/channel/bridge-world.ts'
import { evidenceIsTrue } from '../../conformance/channel/evidence.ts'
import { errorsAreReportedHonestly } from '../../conformance/channel/network-errors.ts'
import type { ScriptedAdapter } from '../bridge/scripted-adapter.ts'
import { isNoticed, type SuitePart } from './is-noticed.ts'

type Call = GuardedCall['call']
type Wrap = (call: Call, adapter: ScriptedAdapter) => Call

interface BrokenBridge {
  readonly noticedBy: SuitePart<BridgeWorld>
  readonly call?: Wrap
  readonly adapter?: (adapter: ScriptedAdapter) => void
}

/** Believes an unsigned answer that has this status. */
const believing =
  (status: number): Wrap =>
  (call) =>
  async (...given) => {
    const end = await call(...given)
    if (end.kind !== 'answered' || end.status !== status || end.header('webhook-signature') !== null) return end
    return { kind: 'not-sent', code: 'unreachable', words: `It answered ${status}.` }
  }

/** Signs any answer as if the adapter had signed it for this request. */
const resigned = (adapter: ScriptedAdapter, { headers }: CallWanted, body: string): CallEnd => {
  const signed = adapter.signedHeaders(headers['webhook-id'] ?? '', body)
  return { kind: 'answered', status: 200, header: (name) => signed[name] ?? null, body: Buffer.from(body) }
}

/** Mistakes that the bridge, or its adapter, could make. The suites must notice each of them. */
const BROKEN_BRIDGES: Readonly<Record<string, BrokenBridge>> = {
  'believes an unsigned 503': { noticedBy: onlyAdaptersAreBelieved, call: believing(503) },
  'takes a 401 for a rejection': { noticedBy: onlyAdaptersAreBelieved, call: believing(401) },
  'follows a redirect': {
    noticedBy: onlyAdaptersAreBelieved,
    call: (call) => async (wanted, limits) => {
      const end = await call(wanted, limits)
      const location = end.kind === 'answered' ? end.header('location') : null
      if (location !== null) await fetch(location, { method: wanted.method, headers: { ...wanted.headers } })
      return end
    },
  },
  'sends without asking whether the adapter is ready': {
    noticedBy: onlyAdaptersAreBelieved,
    call: (call, adapter) => async (wanted, limits) => {
      const end = await call(wanted, limits)
      if (!wanted.url.endsWith('/health') || end.kind !== 'answered') return end
      return resigned(adapter, wanted, Buffer.from(end.body).toString().replace('"ready":false', '"ready":true'))
    },
  },
  'asks an adapter that is not ready all the time': {
    noticedBy: onlyAdaptersAreBelieved,
    call: (call) => async (wanted, limits) => {
      if (wanted.url.endsWith('/health')) for (let i = 0; i < 5; i++) await call(wanted, limits)
      return call(wanted, limits)
    },
  },
  'believes the answer to another request': {
    noticedBy: onlyAdaptersAreBelieved,
    call: (call, adapter) => async (wanted, limits) => {
      const end = await call(wanted, limits)
      const isOther = end.kind === 'answered' && end.header('webhook-id') !== wanted.headers['webhook-id']
      return isOther ? resigned(adapter, wanted, Buffer.from(end.body).toString()) : end
    },
  },
  'reads an answer of any length': {
    noticedBy: onlyAdaptersAreBelieved,
    call: (call) => (wanted, limits) => call({ ...wanted, mostAnswerBytes: 1_000_000 }, limits),
  },
  'sends again when the line breaks': {
    noticedBy: errorsAreReportedHonestly,
    call: (call, adapter) => async (wanted, limits) => {
      const end = await call(wanted, limits)
      if (end.kind !== 'unknown' || wanted.method !== 'POST') return end
      adapter.log.rows.clear()
      return call(wanted, limits)
    },
  },
  'calls a broken line not sent': {
    noticedBy: errorsAreReportedHonestly,
    call: (call) => async (wanted, limits) => {
      const end = await call(wanted, limits)
      return end.kind === 'unknown' ? { ...end, kind: 'not-sent' } : end
    },
  },
  'does not ask whether it still holds the lane': {
    noticedBy: errorsAreReportedHonestly,
    call:
      (call) =>
      (wanted, { signal }) =>
        call(wanted, { signal }),
  },
  'has an adapter that does not close what it said it never received': {
    noticedBy: evidenceIsTrue,
    adapter: (adapter) => {
      adapter.closesAttempts = false
    },
  },
  'has an adapter that forgets what it handed over, and says it never came': {
    noticedBy: evidenceIsTrue,
    adapter: (adapter) => {
      adapter.log.rows.get = () => undefined
    },
  },
}

describe('the suites for the bridge', () => {
  it('pass on the bridge as it is, through the same wrapper', async () => {
    const parts = [onlyAdaptersAreBelieved, receiptsAreVerified, evidenceIsTrue]

    assert.ok(!(await isNoticed(parts, () => openWorld({ noticedBy: evidenceIsTrue, call: (call) => call }))))
  })

  it.each(Object.entries(BROKEN_BRIDGES))('fail on a bridge that %s', async (_, broken) => {
    assert.ok(await isNoticed([broken.noticedBy], () => openWorld(broken)), 'all proofs passed')
  })
})

async function openWorld({ call, adapter }: BrokenBridge): Promise<BridgeWorld> {
  const wrap =
    call && ((guarded: GuardedCall, of: ScriptedAdapter) => ({ call: call((...given) => guarded.call(...given), of) }))
  const world = await newBridgeWorld(wrap ? { wrap } : {})
  adapter?.(world.adapter)
  return world
}
