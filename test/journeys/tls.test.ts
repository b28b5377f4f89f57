import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'vitest'
import { readSettings } from '../../src/config/read-settings.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENDPOINT, SENDER, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { makeCertificate } from '../support/media-world/certificates.ts'

const CERTIFICATE = makeCertificate({ names: ['localhost'], addresses: ['127.0.0.1'] })

function filesOf({ cert, key } = CERTIFICATE) {
  const folder = temporaryFolder()
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  return { NUNCIO_TLS_CERT_FILE: certFile, NUNCIO_TLS_KEY_FILE: keyFile }
}

function ask(url: string, headers: Record<string, string>, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: body === '' ? 'GET' : 'POST', headers, ca: CERTIFICATE.cert }, (response) => {
      text(response).then((said) => resolve({ status: response.statusCode ?? 0, text: said }), reject)
    })
    asking.on('error', reject).end(body)
  })
}

describe('TLS by the service itself', () => {
  it('accepts a message over https, delivers it, and shows https in its URLs', async () => {
    const journey = await startNuncio({ settings: filesOf() })
    const body = { from: SENDER, to: '14155550123', message: { type: 'message', message: 'sealed on the way' } }

    const reply = await ask(
      journey.url + ENDPOINT,
      { 'x-api-key': journey.token, 'content-type': 'application/json' },
      JSON.stringify(body),
    )

    assert.match(journey.url, /^https:\/\/127\.0\.0\.1:/)
    assert.equal(reply.status, 200)
    const [waiting] = await journey.operator.administration.listConnections(null)
    assert.ok(waiting)
    const { text: page } = await ask(`${journey.url}/openapi.json`, {}, '')
    assert.match(page, /"url":"https:/)
  })

  it('passes the checks of doctor', async () => {
    const files = filesOf()
    const journey = await startNuncio({ settings: files })
    const cli = new CliOn(journey.dataDir, { ...files, NUNCIO_PORT: new URL(journey.url).port })

    const { stdout } = await cli.run('doctor', '--offline')

    assert.match(stdout, /ok +service .*runs at https:.*ready/)
    assert.match(stdout, /ok +tls /)
  })

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'half of the pair',
      { NUNCIO_TLS_CERT_FILE: '/etc/cert.pem' },
      /NUNCIO_TLS_CERT_FILE is set and NUNCIO_TLS_KEY_FILE is not/,
    ],
    [
      'the other half',
      { NUNCIO_TLS_KEY_FILE: '/etc/key.pem' },
      /NUNCIO_TLS_KEY_FILE is set and NUNCIO_TLS_CERT_FILE is not/,
    ],
    [
      'an address that says http',
      { NUNCIO_TLS_CERT_FILE: '/c', NUNCIO_TLS_KEY_FILE: '/k', NUNCIO_PUBLIC_URL: 'http://a.example' },
      /begins with http/,
    ],
  ])('refuses settings with %s', (_, environment, sentence) => {
    const { problems } = readSettings({ environment, envFile: {} })

    assert.equal(problems.length, 1)
    assert.match(problems[0]?.sentence ?? '', sentence)
  })

  it('refuses to start with a certificate and a key that do not match, before it opens anything', async () => {
    const other = makeCertificate({ names: ['localhost'] })

    await assert.rejects(
      startNuncio({ settings: filesOf({ cert: CERTIFICATE.cert, key: other.key }) }),
      /does not belong to the certificate/,
    )
  })
})
