import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseWhatsAppWebSettings, readWhatsAppWebSettings, writeWhatsAppWebSettings } from './settings.ts'

describe('the settings of a WhatsApp Web connection', () => {
  it('allow 30 new recipients a day and show nothing, unless something else is set', () => {
    const none = readWhatsAppWebSettings({})

    assert.deepEqual(none, { newRecipientsPerDay: 30, typing: false, presence: false })
  })

  it.each([
    { new_recipients_per_day: '12', typing: 'on', presence: 'off' },
    { new_recipients_per_day: 'off', presence: 'on' },
    {},
  ])('are read and written back as the same: %j', (given) => {
    assert.deepEqual(writeWhatsAppWebSettings(parseWhatsAppWebSettings(given)), given)
  })

  it.each([
    ['new_recipients_per_day', '0'],
    ['new_recipients_per_day', '1001'],
    ['new_recipients_per_day', '3.5'],
    ['new_recipients_per_day', ''],
    ['typing', 'yes'],
    ['presence', 'available'],
    ['templates', 'on'],
  ])('refuse %s=%s in a sentence that names the setting', (name, text) => {
    assert.throws(
      () => parseWhatsAppWebSettings({ [name]: text }),
      (error: Error & { field?: string }) => {
        assert.equal(error.field, name)
        assert.ok(error.message.includes(name))
        return true
      },
    )
  })
})
