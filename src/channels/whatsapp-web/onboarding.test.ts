import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { createOnboarding } from './onboarding.ts'

describe('adding a connection of WhatsApp Web', () => {
  it('is refused with the command while its packages are not installed', () => {
    const folder = openFolder()

    assert.throws(() => createOnboarding(folder), {
      code: 'channel_not_installed',
      message: /nuncio channel install whatsapp-web$/,
    })
  })

  it('takes a number once for the whole installation when they are', async () => {
    const folder = openFolder()
    mkdirSync(join(folder, 'node_modules'))
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}')

    const proof = await createOnboarding(folder).prove({ number: '15550001000', settings: {} })

    assert.deepEqual(proof, { networkKey: '15550001000', facts: [], settings: {} })
  })
})

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-extra-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
