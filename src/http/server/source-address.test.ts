import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'vitest'
import { parseAddressRange } from '../../core/media-address/ip-address.ts'
import { sourceAddress } from './source-address.ts'

const PROXIES = ['10.0.0.0/8', 'fd00::/8'].map((range) => parseAddressRange(range)!)

function from(remoteAddress: string, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage
}

describe('the address a request comes from', () => {
  it.each([
    ['the peer', from('203.0.113.7'), '203.0.113.7'],
    ['the peer on a socket for both families', from('::ffff:203.0.113.7'), '203.0.113.7'],
    ['the peer, whatever a stranger writes', from('203.0.113.7', '1.1.1.1'), '203.0.113.7'],
    ['what a proxy wrote', from('10.0.0.1', '203.0.113.7'), '203.0.113.7'],
    ['what a proxy wrote, seen on a socket for both families', from('::ffff:10.0.0.1', '203.0.113.7'), '203.0.113.7'],
    ['what the outermost proxy wrote', from('10.0.0.1', '203.0.113.7, 10.0.0.2, fd00::2'), '203.0.113.7'],
    ['not what a caller invented', from('10.0.0.1', '8.8.8.8, 203.0.113.7'), '203.0.113.7'],
    ['not what a caller invented in the name of a proxy', from('10.0.0.1', '10.9.9.9, 203.0.113.7'), '203.0.113.7'],
    ['the last proxy when all are proxies', from('10.0.0.1', '10.0.0.3,10.0.0.2'), '10.0.0.3'],
    ['the proxy itself when it says nothing', from('10.0.0.1'), '10.0.0.1'],
    ['the proxy itself when it says no address', from('10.0.0.1', 'unknown'), '10.0.0.1'],
    ['the proxy before one that says no address', from('10.0.0.1', 'x, 10.0.0.2'), '10.0.0.2'],
    ['without a port', from('10.0.0.1', '203.0.113.7:4711'), '203.0.113.7'],
    ['without brackets and port', from('10.0.0.1', '[2001:db8::1]:4711'), '2001:db8::1'],
  ])('is %s', (_, request, expected) => {
    assert.equal(sourceAddress(request, PROXIES), expected)
  })

  it('is always the peer when no proxy is trusted', () => {
    assert.equal(sourceAddress(from('10.0.0.1', '203.0.113.7'), []), '10.0.0.1')
  })
})
