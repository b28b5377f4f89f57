import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cluster } from '../../../support/black-box/cluster.ts'
import type { LoadPlan, Special } from '../../../support/black-box/load.ts'
import { tinyPng } from '../../../support/journey/serve-files.ts'

const SLOW_MS = 300
// Sandbox recipients: busy for two attempts; delivers without an answer; loses the message.
const BUSY_TWICE = '15550100002'
const UNKNOWN_DELIVERED = '15550100003'
const UNKNOWN_LOST = '15550100004'
const BLOCKED = '447900000001'
const ANY_RECIPIENT = '447900000000'

/** Letters with which a lane takes every kind of step: retries, waits for evidence, waits for media, drops. */
export class SpecialLetters {
  readonly #server = createServer((_, response) => {
    setTimeout(() => response.writeHead(200, { 'content-type': 'image/png' }).end(tinyPng()), SLOW_MS)
  })

  static readonly environment = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.1/32' }

  /** Starts each kind on its own connection. */
  async start({ cli }: Cluster, connections: readonly string[]): Promise<NonNullable<LoadPlan['instead']>> {
    const [busy, unknown, media, dropping] = connections
    await cli.json('recipient', 'block', BLOCKED)
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return (connection, random) => {
      const drawn = random.next()
      if (connection === busy) return drawn < 0.01 ? text(BUSY_TWICE) : undefined
      if (connection === unknown) return drawn < 0.5 ? text(drawn < 0.25 ? UNKNOWN_DELIVERED : UNKNOWN_LOST) : undefined
      if (connection === media) return picture(`${url}/picture.png`)
      if (connection === dropping) return drawn < 0.04 ? text(BLOCKED) : undefined
      return undefined
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

function text(to: string): Special {
  return { to, message: { type: 'message', message: 'something special' }, content: { type: 'message' } }
}

function picture(url: string): Special {
  const message = { type: 'image', media: { name: 'picture.png', url } }
  return { to: ANY_RECIPIENT, message, content: { type: 'image' } }
}
