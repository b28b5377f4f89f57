import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import { newSecret } from '../../../test/support/bridge/scripted-adapter.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import type { AdapterClient } from './adapter-client.ts'
import { Gate } from './gate.ts'
import type { AdapterHealth } from './protocol.ts'

const id = 'one' as ConnectionId
const url = 'https://sms.example.org'
const TEXTS: AdapterHealth['capabilities'] = {
  ...{ types: ['message'], maxTextLength: 160, maxCaptionLength: null },
  ...{ receipts: ['delivered'], evidence: false },
}

it('compares what an adapter can do each minute, also where attempts never leave off', async () => {
  const clock = new HandClock()
  const said: number[] = []
  let maxTextLength = 160
  const health = async (): Promise<AdapterHealth> => ({
    ...{ adapter: 'a', gateway: 'g', words: null, senders: null, isReady: true, versions: [1] },
    ...{ now: clock.now(), logSince: clock.now(), capabilities: { ...TEXTS, maxTextLength } },
  })
  const changes = {
    compare: async (_: unknown, { maxTextLength: length }: AdapterHealth['capabilities']) => {
      said.push(length ?? 0)
    },
  }
  const gate = new Gate({ client: { health } as unknown as AdapterClient, clock, changes })
  const asked = { id, accountId: 'a' as AccountId, settings: { url, secret: newSecret() } }

  for (let attempt = 1; attempt <= 10; attempt += 1) {
    if (attempt === 4) maxTextLength = 1_000
    assert.equal(await gate.enter(asked, { url, keys: [], hidden: [] }), null)
    gate.attempted(id, 'signed', null)
    await settle()
    await clock.pass(30_000)
  }

  assert.deepEqual(said, [160, 160, 1_000, 1_000, 1_000])
})
