import assert from 'node:assert/strict'
import { Refusal } from '../../../src/core/refusals.ts'
import { type NewChannelWorld, promisingIn, type Suite } from './channel-world.ts'

/** The settings that people write for a connection of the channel. */
export function settingsAreKept(suite: Suite, newWorld: NewChannelWorld): void {
  const promises = promisingIn(suite, newWorld)

  promises(
    'reads each setting, and reads its own written form as the same value',
    async ({ channel, description, pairs }) => {
      const stored = channel.parseSettings(pairs)

      const written = description.writeSettings(stored)

      assert.deepEqual(Object.keys(written).sort(), Object.keys(pairs).sort())
      assert.deepEqual(channel.parseSettings(written), stored)
    },
  )

  promises('describes each setting that it reads, and no other', async ({ channel, description, pairs }) => {
    const { settings } = description

    assert.deepEqual(settings.map(({ name }) => name).sort(), Object.keys(pairs).sort())
    for (const { name, label, help } of settings) assert.ok(label && help, `${name} is not explained`)
    assert.equal(description.name, channel.name)
  })

  promises('knows which of its stored settings are secrets', async ({ channel, description, pairs, secrets }) => {
    const secretNames = description.settings.filter(({ kind }) => kind === 'secret').map(({ name }) => name)
    const keys = secretNames.flatMap((name) => Object.keys(channel.parseSettings({ [name]: pairs[name] ?? '' })))
    const stored = channel.parseSettings(pairs)
    const inOthers = Object.entries(stored).filter(([key]) => !description.secretKeys.includes(key))

    assert.deepEqual([...description.secretKeys].sort(), keys.sort())
    for (const secret of secrets) assert.ok(!JSON.stringify(inOthers).includes(secret))
  })

  promises('refuses an unknown setting, and names it without its value', async ({ channel }) => {
    assert.throws(
      () => channel.parseSettings({ no_such_setting: 'a value that may be a secret' }),
      (thrown) =>
        thrown instanceof Refusal &&
        thrown.message.includes('no_such_setting') &&
        !JSON.stringify([thrown.message, thrown]).includes('may be a secret'),
    )
  })
}
