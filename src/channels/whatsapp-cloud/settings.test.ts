import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { testSecrets } from '../../../test/support/secrets.ts'
import { hasSealedForm } from '../../core/sealed-form.ts'
import { WHATSAPP_CLOUD_DESCRIPTION } from './description.ts'
import { parseWhatsAppCloudSettings, readWhatsAppCloudSettings } from './settings.ts'

const PAIRS = {
  phone_number_id: '106540352242922',
  business_account_id: '102290129340398',
  access_token: 'EAAG-an-access-token',
  app_secret: '0123456789abcdef0123456789abcdef',
  verify_token: 'chosen-by-us',
  graph_version: 'v25.0',
  link_preview: 'off',
  template_text: 'notice:en_US',
  template_image: 'photo:de',
}

describe('the settings of a connection', () => {
  it('are read, and written back as the same texts', () => {
    const stored = parseWhatsAppCloudSettings(PAIRS)

    assert.deepEqual(stored, {
      phoneNumberId: '106540352242922',
      businessAccountId: '102290129340398',
      accessToken: 'EAAG-an-access-token',
      appSecret: '0123456789abcdef0123456789abcdef',
      verifyToken: 'chosen-by-us',
      graphVersion: 'v25.0',
      linkPreview: false,
      templates: {
        text: { name: 'notice', language: 'en_US', bodyVariables: null },
        image: { name: 'photo', language: 'de', bodyVariables: null },
      },
    })
    assert.deepEqual(WHATSAPP_CLOUD_DESCRIPTION.writeSettings(stored), PAIRS)
  })

  it('have what Meta has for a start where they are left out', () => {
    const { graphVersion, linkPreview, templates, throughputPerSecond, accessToken } = readWhatsAppCloudSettings({})

    assert.deepEqual(
      [graphVersion, linkPreview, templates, throughputPerSecond, accessToken],
      ['v26.0', true, {}, 80, null],
    )
  })

  it('pass secrets that are sealed already', () => {
    const place = { purpose: 'connection', accountId: 'a', owner: 'c', name: 'accessToken' } as const
    const sealed = testSecrets().seal('x', place)

    assert.ok(hasSealedForm(sealed))
    assert.equal(parseWhatsAppCloudSettings({ verify_token: sealed })['verifyToken'], sealed)
  })

  it('name a template no more when it is empty', () => {
    assert.deepEqual(parseWhatsAppCloudSettings({ template_text: '' }), { templates: {} })
  })

  it('take an app secret of another form, because Meta may change it', () => {
    assert.equal(
      parseWhatsAppCloudSettings({ app_secret: 'ABCDEFGHIJKLMNOPQRSTUVWX' })['appSecret'],
      'ABCDEFGHIJKLMNOPQRSTUVWX',
    )
  })

  it.each([
    ['phone_number_id', '+1 555 000 1000', /not the number itself/],
    ['phone_number_id', '0106540352242922', /the first of them not 0/],
    ['business_account_id', '0', /the first of them not 0/],
    ['business_account_id', 'me', /digits only/],
    ['access_token', 'too short', /16 letters/],
    ['access_token', `EAAG${' '}with-a-blank-in-it`, /without blanks/],
    ['app_secret', 'short', /32 characters/],
    ['verify_token', '1234567', /at least 8/],
    ['graph_version', '26', /v26\.0/],
    ['graph_version', 'v26.0/../me', /v26\.0/],
    ['link_preview', 'yes', /on or off/],
    ['template_text', 'notice', /notice:en_US/],
    ['template_text', 'Notice:en_US', /notice:en_US/],
    ['template_sound', 'x:en', /has no setting template_sound/],
    ['__proto__', 'x', /has no setting/],
  ])('refuse a wrong %s in a sentence that does not repeat it: %s', (name, text, sentence) => {
    assert.throws(
      () => parseWhatsAppCloudSettings(Object.fromEntries([[name, text]])),
      (error: Error & { field: string; code: string }) => {
        assert.deepEqual([error.code, error.field], ['setting_invalid', name])
        assert.match(error.message, sentence)
        assert.ok(
          text.length < 4 || !error.message.includes(text) || name === 'template_text' || name === 'graph_version',
        )
        return true
      },
    )
  })

  it('are all described, with the secrets among them', () => {
    const { settings, secretKeys } = WHATSAPP_CLOUD_DESCRIPTION
    const names = settings.map(({ name }) => name)

    assert.deepEqual(
      settings.filter(({ isRequired }) => isRequired).map(({ name }) => name),
      ['phone_number_id', 'business_account_id', 'access_token', 'app_secret', 'verify_token'],
    )
    assert.deepEqual(
      settings
        .filter(({ kind }) => kind === 'secret')
        .map(({ name }) => Object.keys(parseWhatsAppCloudSettings({ [name]: '0123456789abcdef' }))[0]),
      secretKeys,
    )
    for (const name of Object.keys(PAIRS)) assert.ok(names.includes(name), name)
  })
})
