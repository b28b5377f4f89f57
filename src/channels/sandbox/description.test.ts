import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { SANDBOX_DESCRIPTION } from './description.ts'
import { parseSandboxSettings, SANDBOX_KEYS } from './settings.ts'

describe('the description of the sandbox', () => {
  it('names every setting there is', () => {
    assert.deepEqual(
      SANDBOX_DESCRIPTION.settings.map(({ name }) => name),
      Object.keys(SANDBOX_KEYS),
    )
  })

  it('writes settings so that they are read back as they were', () => {
    const pairs = { latency: '1.5s', delivered_after: '90s', read_after: 'never' }
    const stored = parseSandboxSettings(pairs)

    assert.deepEqual(parseSandboxSettings(SANDBOX_DESCRIPTION.writeSettings({ ...stored })), stored)
    assert.deepEqual(SANDBOX_DESCRIPTION.writeSettings({ latencyMs: 0 }), { latency: '0s' })
    assert.deepEqual(SANDBOX_DESCRIPTION.writeSettings({}), {})
  })

  it('says of each what it is when it is left out, in words that can be written', () => {
    for (const { name, unset } of SANDBOX_DESCRIPTION.settings)
      assert.doesNotThrow(() => parseSandboxSettings({ [name]: unset }))
  })
})
