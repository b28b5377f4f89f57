import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../../test/support/journey/start-nuncio.ts'
import { type Certificate, makeCertificate } from '../../../test/support/media-world/certificates.ts'
import { Refusal } from '../../core/refusals.ts'
import type { TlsIdentity } from '../../http/server/tls-identity.ts'
import { TlsWatch } from './tls-watch.ts'

const DAY_MS = 86_400_000
const ENDS = Date.UTC(2030, 0, 1)
const LASTING = makeCertificate({ names: ['a.example'] })
const ENDING = makeCertificate({ names: ['a.example'], validUntil: '300101000000Z' })

/** A watch over two files, whose next check the test triggers. */
class Watched {
  readonly said: string[] = []
  readonly taken: TlsIdentity[] = []
  readonly #folder = temporaryFolder()
  #check: (() => void) | null = null
  now = ENDS - 60 * DAY_MS

  put({ cert, key }: Partial<Certificate>): this {
    if (cert !== undefined) this.#replace('cert.pem', cert)
    if (key !== undefined) this.#replace('key.pem', key)
    return this
  }

  open(): TlsWatch {
    const say = (level: string) => (_: object, words: string) => void this.said.push(`${level}: ${words}`)
    const watch = new TlsWatch({
      settings: { tlsCertFile: join(this.#folder, 'cert.pem'), tlsKeyFile: join(this.#folder, 'key.pem') },
      logger: { info: say('info'), warn: say('warn'), error: say('error') } as never,
      clock: {
        wall: () => this.now,
        after: (_, call) => {
          this.#check = call
          return () => {
            this.#check = null
          }
        },
      },
    })
    watch.start((identity) => this.taken.push(identity))
    return watch
  }

  check(): void {
    const check = this.#check
    this.#check = null
    check?.()
  }

  get isWaiting(): boolean {
    return this.#check !== null
  }

  // As tools do that renew: whole, and under its name at once.
  #replace(name: string, text: string): void {
    writeFileSync(join(this.#folder, `${name}.new`), text)
    renameSync(join(this.#folder, `${name}.new`), join(this.#folder, name))
  }
}

describe('the watch over a certificate', () => {
  it('takes a new pair, once', () => {
    const watched = new Watched().put(LASTING)
    watched.open()
    watched.check()
    watched.put(ENDING).check()
    watched.check()

    assert.deepEqual(
      watched.taken.map(({ cert }) => cert),
      [ENDING.cert],
    )
    assert.deepEqual(watched.said, ['info: a new certificate is in force'])
  })

  it('keeps the old one while the new one is broken or half in place, says so once, and takes it when it is whole', () => {
    const watched = new Watched().put(LASTING)
    watched.open()

    watched.put({ cert: ENDING.cert }).check()
    watched.check()
    watched.put({ key: ENDING.key }).check()

    assert.equal(watched.said.length, 2)
    assert.match(watched.said[0] ?? '', /error: .*old one stays in force.*does not belong/)
    assert.equal(watched.taken.length, 1)
  })

  it('warns two weeks ahead, once a day, and louder when it is over', () => {
    const watched = new Watched().put(ENDING)
    watched.open()
    watched.now = ENDS - 13.5 * DAY_MS
    watched.check()
    watched.now += DAY_MS / 2
    watched.check()
    watched.now = ENDS + DAY_MS
    watched.check()

    assert.equal(watched.said.length, 2)
    assert.match(watched.said[0] ?? '', /warn: The certificate expires in 13 days/)
    assert.match(watched.said[1] ?? '', /error: The certificate expired/)
  })

  it('checks no more once it is closed', () => {
    const watched = new Watched().put(LASTING)
    watched.open().close()

    assert.equal(watched.isWaiting, false)
  })

  it.each([
    ['no certificate', { cert: 'nothing', key: LASTING.key }, /holds no certificate/],
    ['a key of another', { cert: LASTING.cert, key: ENDING.key }, /does not belong/],
    ['no key', { cert: LASTING.cert, key: 'nothing' }, /must be a private key in PEM form/],
    ['no file', { cert: LASTING.cert }, /cannot be read \(ENOENT\)/],
  ])('refuses to begin with %s', (_, files, sentence) => {
    const watched = new Watched().put(files)

    assert.throws(
      () => watched.open(),
      (error) => error instanceof Refusal && sentence.test(error.message),
    )
  })
})
