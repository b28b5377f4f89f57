import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { randomValue, startCommand } from '../../console/features/connections/start-first.ts'
import { BRIDGE_DESCRIPTION } from '../../src/channels/bridge/description.ts'
import { parseBridgeSettings } from '../../src/channels/bridge/settings.ts'

describe('the form of a bridge', () => {
  it('creates secrets that the channel accepts, each a different one', () => {
    const { random } = BRIDGE_DESCRIPTION.settings.find(({ name }) => name === 'secret') ?? {}
    const secrets = Array.from({ length: 100 }, () => randomValue(random!))

    for (const secret of secrets) assert.deepEqual(parseBridgeSettings({ secret }), { secret })
    assert.equal(new Set(secrets).size, 100)
  })

  it('shows how the adapter is started, so that it listens where the URL says', () => {
    const { command } = BRIDGE_DESCRIPTION.startFirst!
    const listens = ['', 'no url', 'http://10.0.0.5:8123/x', 'http://localhost', 'https://sms.example.org/a'].map(
      (url) => /--listen (\S+)/.exec(startCommand(command, url))?.[1],
    )

    assert.deepEqual(listens, [
      '127.0.0.1:7900',
      '127.0.0.1:7900',
      '10.0.0.5:8123',
      'localhost:80',
      'sms.example.org:443',
    ])
  })
})
