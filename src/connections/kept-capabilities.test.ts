import assert from 'node:assert/strict'
import { it } from 'vitest'
import { newSecret } from '../../test/support/bridge/scripted-adapter.ts'
import { testSecrets } from '../../test/support/secrets.ts'
import type { AccountId } from '../core/ids.ts'
import type { ChannelOnboarding } from '../core/ports/channel-onboarding.ts'
import { createConnectionService } from './connection-service.ts'

it('what an adapter can do is taken over by a check, and by no other change', async () => {
  let capabilities = { receipts: ['delivered'] }
  const asked: unknown[] = []
  const network: ChannelOnboarding = {
    prove: async ({ settings }) => {
      asked.push(settings['capabilities'])
      return { networkKey: 'one', facts: [], settings: { ...settings, capabilities } }
    },
    listTemplates: async () => [],
    callbackSecretOf: () => null,
    takesCallbackSecret: async () => false,
  }
  const connectionService = createConnectionService({
    onboardings: new Map([['bridge', async () => network]]),
    openSecrets: async () => testSecrets(),
    publicUrl: 'https://nuncio.example',
  })
  const own = { accountId: 'acc-acme' as AccountId, number: '15550001000', channel: 'bridge' }
  const none = async () => []
  const added = await connectionService.prepareNew(
    { ...own, pairs: { url: 'https://a.example', secret: newSecret() } },
    none,
  )
  const before = capabilities
  capabilities = { receipts: [] }

  const changed = await connectionService.prepareChange({ ...own, ...added }, { send_timeout: '20s' }, none)
  const checked = await connectionService.check({ ...own, ...added, channelSettings: changed.channelSettings }, none)

  assert.deepEqual(
    [added, changed].map(({ channelSettings }) => channelSettings['capabilities']),
    [before, before],
  )
  assert.deepEqual(checked.change?.channelSettings?.['capabilities'], capabilities)
  // By what is stored it reports what has changed.
  assert.deepEqual(asked, [undefined, before, before])
})
