import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/journey/start-nuncio.ts'
import { makeCertificate } from '../../../test/support/media-world/certificates.ts'
import { readTlsFiles } from './read-tls-files.ts'

function write(encode: (text: string) => string | Buffer) {
  const folder = temporaryFolder()
  const [tlsCertFile, tlsKeyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const { cert, key } = makeCertificate({ names: ['localhost'] })
  writeFileSync(tlsCertFile, encode(cert))
  writeFileSync(tlsKeyFile, encode(key))
  return { tlsCertFile, tlsKeyFile }
}

describe('the files of a certificate', () => {
  it('are read with a byte order mark before them', () => {
    const files = readTlsFiles(write((text) => `\ufeff${text}`))

    assert.match(files?.cert ?? '', /^-----BEGIN CERTIFICATE-----/)
    assert.match(files?.key ?? '', /^-----BEGIN/)
  })

  it('are refused in another encoding, with the name of the file', () => {
    const files = write((text) => Buffer.from(text, 'utf16le'))

    assert.throws(() => readTlsFiles(files), {
      code: 'tls_unusable',
      message: /cert\.pem is UTF-16 .* Save it as UTF-8\.$/,
    })
  })
})
