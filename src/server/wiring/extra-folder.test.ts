import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { it, onTestFinished } from 'vitest'
import { extraFolder } from './extra-folder.ts'

it('finds the packages of a channel in the program of an image that was built with them, else among the data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-extras-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const dataDir = join(folder, 'data')
  const programExtras = join(folder, 'program')
  const before = extraFolder({ dataDir }, 'whatsapp-web', programExtras)

  const list = join(programExtras, 'whatsapp-web/node_modules/.package-lock.json')
  mkdirSync(dirname(list), { recursive: true })
  writeFileSync(list, '{}')

  assert.equal(before, join(dataDir, 'extras/whatsapp-web'))
  assert.equal(extraFolder({ dataDir }, 'whatsapp-web', programExtras), join(programExtras, 'whatsapp-web'))
})
