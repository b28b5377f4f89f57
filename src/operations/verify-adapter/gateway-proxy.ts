import { createServer, type IncomingMessage, request as requestHttp, type Server, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { Refusal } from '../../core/refusals.ts'
import { closeServer, listenAt } from './listen-at.ts'

/** What happens to a call that carries the recipient. Null: it goes through. */
export type Disturbance = 'refused' | 'cut-before' | 'cut-after' | 'cut-amid' | '500' | 'garbage' | 'hang' | null

const BETWEEN = /^([^=]+)=(https?:\/\/.+?)\/*$/

/** Stands between adapter and gateway, and breaks the calls that carry the recipient in various ways. */
export class GatewayProxy {
  readonly #place: string
  readonly #target: string
  readonly #recipient: string
  #server: Server | null = null
  #disturbance: Disturbance = null
  /** How many calls carried the recipient since this was last set to 0. */
  calls = 0

  private constructor(between: string, recipient: string) {
    const [, place = '', target = ''] = BETWEEN.exec(between) ?? []
    this.#place = place
    this.#target = target
    this.#recipient = recipient
  }

  static async open(between: string, recipient: string): Promise<GatewayProxy> {
    if (!BETWEEN.test(between))
      throw new Refusal(
        'argument_invalid',
        '--proxy is HOST:PORT=URL: where it listens, and the address of the gateway, such as 127.0.0.1:7999=http://127.0.0.1:13013.',
      )
    const proxy = new GatewayProxy(between, recipient)
    await proxy.#listen()
    return proxy
  }

  async set(disturbance: Disturbance): Promise<void> {
    this.#disturbance = disturbance
    if (disturbance === 'refused') await this.close()
    else if (!this.#server) await this.#listen()
  }

  async close(): Promise<void> {
    if (this.#server) await closeServer(this.#server)
    this.#server = null
  }

  async #listen(): Promise<void> {
    this.#server = await listenAt(
      this.#place,
      createServer((request, response) => {
        this.#pass(request, response).catch(() => response.destroy())
      }),
    )
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const { method = 'GET', url = '/', headers } = request
    const isCall = [url, JSON.stringify(headers), body.toString('latin1')].some((text) =>
      text.includes(this.#recipient),
    )
    const disturbance = isCall ? this.#disturbance : null
    if (isCall) this.calls += 1
    if (disturbance === 'cut-before') {
      response.destroy()
      return
    }
    const answer = await this.#forward({ method, url, headers }, body)
    switch (disturbance) {
      case 'cut-after':
        response.destroy()
        return
      case 'cut-amid':
        response
          .writeHead(answer.status, { 'content-length': answer.body.length + 10 })
          .write(answer.body.subarray(0, 1))
        setTimeout(() => response.destroy(), 50)
        return
      case 'hang':
        return
      case '500':
        response.writeHead(500).end('disturbed')
        return
      case 'garbage':
        response.socket?.end('%%% this is no HTTP %%%\r\n\r\n')
        return
      default:
        response.writeHead(answer.status, answer.headers).end(answer.body)
    }
  }

  #forward(
    {
      method,
      url,
      headers,
    }: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] },
    body: Buffer,
  ): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: Buffer }> {
    const start = this.#target.startsWith('https:') ? requestHttps : requestHttp
    return new Promise((resolve, reject) => {
      const { host: _, connection: __, ...kept } = headers
      const passed = start(this.#target + url, { method, headers: kept, agent: false }, (answer) => {
        const { connection: ___, 'transfer-encoding': ____, ...given } = answer.headers
        buffer(answer).then(
          (whole) => resolve({ status: answer.statusCode ?? 502, headers: given, body: whole }),
          reject,
        )
      })
      passed.on('error', reject)
      passed.end(body)
    })
  }
}
