import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type AddressRange, isWithin, parseAddressRange, parseIpAddress } from '../../core/media-address/ip-address.ts'
import { hijackReply } from '../server/hijack-reply.ts'
import { problem } from '../server/problem.ts'
import { isAmong } from '../server/repeated-headers.ts'
import { contextOf, type RequestContext } from '../server/request-context.ts'
import { peerAddress } from '../server/source-address.ts'

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
}

export interface MetricsReaders {
  /** In addition to this machine. */
  readonly allowed: readonly AddressRange[]
  readonly bearerSecret: string | null
}

const LOOPBACK = ['127.0.0.0/8', '::1'].map(parseAddressRange).filter((range) => range !== null)
// Behind a proxy on this machine every request seems to come from this machine. These headers deny access; none grants it.
const SIGNS_OF_A_PROXY = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const

export function addMetricsPage(app: FastifyInstance, metrics: Metrics, readers: MetricsReaders): void {
  app.get('/metrics', async (request, reply) => {
    if (!mayRead(contextOf(request.raw), readers)) return hijackReply(reply).refuse([problem('metrics_not_allowed')])
    const text = await metrics.text()
    const head = ['content-type', metrics.contentType, 'content-length', String(Buffer.byteLength(text))]
    hijackReply(reply).reply(200, head, text)
  })
}

function mayRead({ request, repeatedHeaders }: RequestContext, readers: MetricsReaders): boolean {
  if (!isAmong(repeatedHeaders, 'authorization') && bringsSecret(request, readers)) return true
  return isAllowedPeer(request, readers)
}

function isAllowedPeer(request: IncomingMessage, { allowed }: MetricsReaders): boolean {
  const address = parseIpAddress(peerAddress(request))
  if (!address) return false
  if (isWithin(address, allowed)) return true
  return isWithin(address, LOOPBACK) && SIGNS_OF_A_PROXY.every((name) => request.headers[name] === undefined)
}

function bringsSecret({ headers }: IncomingMessage, { bearerSecret }: MetricsReaders): boolean {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearerSecret === null || given === undefined) return false
  // Hashes have one length, so the comparison reveals nothing about the secret, not even its length.
  return timingSafeEqual(sha256(given), sha256(bearerSecret))
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
