import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { channelsOf } from './registry.ts'

const META = { whatsappCloudUrl: 'https://graph.facebook.com', whatsappWebUrl: { rootKey: null } }

describe('the channels', () => {
  it.each([
    ['neither', META, []],
    ['the Cloud API', { ...META, whatsappCloudUrl: 'http://127.0.0.1:4000' }, ['whatsapp-cloud']],
    ['WhatsApp Web', { ...META, whatsappWebUrl: { rootKey: 'AAAA' } }, ['whatsapp-web']],
  ])('say that they reach a simulator: %s', (_, settings, simulated) => {
    const labelled = channelsOf(settings).filter(({ label }) => label.endsWith(' (simulator)'))

    assert.deepEqual(
      labelled.map(({ name }) => name),
      simulated,
    )
  })
})
