import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { keyOf } from '../../src/channels/bridge/signing.ts'
import { AdapterUnderTest } from '../../src/operations/verify-adapter/adapter-under-test.ts'
import { AdapterProcess } from '../support/bridge/run-adapter.ts'
import { newSecret } from '../support/bridge/scripted-adapter.ts'

const PAGE = '<html>Try later</html>'

describe('the adapter for kannel', () => {
  it.each([
    [202, '0: Accepted for delivery', 'accepted'],
    [503, 'Temporal failure, try again later.', 'rejected connection busy'],
    [400, 'Missing receiver number, rejected', 'rejected connection gateway_setup'],
    [400, 'Sender missing and no global set, rejected', 'rejected connection gateway_setup'],
    [404, 'Unknown request.', 'rejected connection gateway_setup'],
    [503, PAGE, 'unknown'],
    [400, PAGE, 'unknown'],
    [404, PAGE, 'unknown'],
  ])('reads %i %s as %s, at an address with a slash at its end', async (status, text, is) => {
    await using world = await openWorld({ status, text })

    const outcome = await world.attempt()

    assert.equal([outcome['result'], outcome['class'], outcome['code']].filter(Boolean).join(' '), is)
    assert.deepEqual(world.paths, ['/cgi-bin/sendsms'])
  })

  it('believes a report about what it sent under the secret before', async () => {
    await using world = await openWorld({ status: 202, text: '0: Accepted for delivery' })
    await world.attempt()
    await world.changeSecret()

    const known = await fetch(world.reportUrl())
    const forged = await fetch(world.reportUrl().replace(/&k=[^&]*/, '&k='))

    assert.deepEqual([known.status, forged.status], [200, 401])
  })
})

async function openWorld({ status, text }: { readonly status: number; readonly text: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-kannel-'))
  const secretFile = join(folder, 'secret')
  const secret = newSecret()
  writeFileSync(secretFile, secret)
  const paths: string[] = []
  let reportUrl = ''
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    reportUrl = String(request.headers['x-kannel-dlr-url'])
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const process = await AdapterProcess.create({
    program: ['adapters/kannel.mjs'],
    secretFile,
    log: join(folder, 'log'),
    arguments: ['--gateway', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`],
  })
  await process.start()
  const adapter = new AdapterUnderTest({ url: process.origin, keys: [keyOf(secret) ?? Buffer.alloc(0)] })
  return {
    paths,
    reportUrl: () => reportUrl.replace('%d', '8').replace('%A', ''),
    async attempt(): Promise<Readonly<Record<string, unknown>>> {
      const attempted = await adapter.attempt(adapter.fieldsOf())
      if ('problem' in attempted) throw new Error(attempted.problem)
      return { ...attempted.outcome }
    },
    /** The old one stays behind the new one until Nuncio has the new one too. */
    async changeSecret() {
      await process.kill()
      writeFileSync(secretFile, `${newSecret()}\n${secret}\n`)
      await process.start()
    },
    async [Symbol.asyncDispose]() {
      await process.kill()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true })
    },
  }
}
