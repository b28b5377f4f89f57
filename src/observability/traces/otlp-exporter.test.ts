import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, onTestFinished } from 'vitest'
import { OtlpExporter } from './otlp-exporter.ts'

/** `answer` writes to the connection, past the server. */
async function exportTo(answer: string): Promise<boolean> {
  const server = createServer((request) => {
    request.resume().on('end', () => request.socket.end(answer))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  const exporter = new OtlpExporter({ url, headers: {}, service: { version: '1', instance: 'a' } })
  return exporter.send([])
}

describe('an export of traces', () => {
  it('is taken when unrequested interim answers come first', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'

    assert.equal(await exportTo(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`), true)
  })

  it('is refused by a redirect, which is not followed', async () => {
    const elsewhere = 'location: http://127.0.0.1:9/\r\ncontent-length: 0'

    assert.equal(await exportTo(`HTTP/1.1 307 Elsewhere\r\n${elsewhere}\r\n\r\n`), false)
  })
})
