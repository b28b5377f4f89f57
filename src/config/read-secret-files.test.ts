import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../test/support/journey/start-nuncio.ts'
import { readSecretFiles } from './read-secret-files.ts'
import { readSettings } from './read-settings.ts'

function fileWith(text: string | Buffer): string {
  const path = join(temporaryFolder(), 'secret')
  writeFileSync(path, text)
  return path
}

describe('secrets from files', () => {
  it('stand in the place of the setting, without the end of the line', () => {
    const { environment, problems } = readSecretFiles({
      NUNCIO_METRICS_SECRET_FILE: fileWith('sixteen-characters\n'),
      NUNCIO_DATABASE_URL_FILE: fileWith('postgres://nuncio:secret@db/nuncio'),
    })

    const { settings, unknown } = readSettings({ environment, envFile: {} })
    assert.deepEqual([problems, unknown], [[], []])
    assert.equal(settings?.metricsSecret, 'sixteen-characters')
    assert.equal(settings.database.engine, 'postgres')
  })

  it('are reported when they cannot be read or stand beside the setting itself, without their content', () => {
    const { problems } = readSecretFiles({
      NUNCIO_METRICS_SECRET_FILE: '/nowhere',
      NUNCIO_TOKEN_FILE: fileWith('nco_secret'),
      NUNCIO_TOKEN: 'nco_other',
    })

    assert.deepEqual(
      problems.map(({ setting }) => setting),
      ['NUNCIO_METRICS_SECRET', 'NUNCIO_TOKEN'],
    )
    assert.match(problems[0]?.sentence ?? '', /NUNCIO_METRICS_SECRET_FILE names cannot be read \(ENOENT\)/)
    assert.match(problems[1]?.sentence ?? '', /NUNCIO_TOKEN is set as well/)
    assert.doesNotMatch(JSON.stringify(problems), /nco_/)
  })

  it('are read without a byte order mark, and refused in another encoding', () => {
    const { environment, problems } = readSecretFiles({
      NUNCIO_METRICS_SECRET_FILE: fileWith('\ufeffsixteen-characters'),
      NUNCIO_TOKEN_FILE: fileWith(Buffer.from('\ufeffnco_secret', 'utf16le')),
    })

    assert.equal(environment['NUNCIO_METRICS_SECRET'], 'sixteen-characters')
    assert.deepEqual(
      problems.map(({ sentence }) => sentence),
      ['NUNCIO_TOKEN_FILE cannot be used: the file is UTF-16 or no text at all. Save it as UTF-8.'],
    )
  })

  it('leave settings alone that are files themselves', () => {
    const given = { NUNCIO_KEY_RING_FILE: '/keys/ring.json', NUNCIO_TLS_KEY_FILE: '/tls/key.pem' }

    assert.deepEqual(readSecretFiles(given).environment, given)
  })
})
