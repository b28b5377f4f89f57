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
    [403, 'Authorization failed for sendsms', 'rejected connection gateway_auth'],
    [403, PAGE, 'unknown'],
    [503, PAGE, 'unknown'],
    [400, PAGE, 'unknown'],
    [404, PAGE, 'unknown'],
  ])('reads %i %s as %s, at an address with a slash at its end', async (status, text, is) => {
    await using world = await openWorld({ status, text })

    const outcome = await world.attempt()

    assert.equal([outcome['result'], outcome['class'], outcome['code']].filter(Boolean).join(' '), is)
    assert.deepEqual(world.paths, ['/cgi-bin/sendsms'])
  })

  it.each([
    ['<type>smsbox</type>…<status>on-line 0d', 'Kannel has no SMSC that is online.'],
    ['<status>online 3s</status>', 'Kannel has no smsbox.'],
    ['<type>smsbox</type><status>online 3s</status>', null],
  ])('is ready only when Kannel has an SMSC and an smsbox: %s', async (page, words) => {
    await using world = await openWorld({
      status: 200,
      text: `Kannel bearerbox version \`1.4.5'.${page}`,
      hasStatus: true,
    })

    const health = await world.health()

    assert.deepEqual([health['ready'], health['words'], health['gateway']], [words === null, words, 'Kannel 1.4.5'])
  })

  it('is not ready while Kannel refuses its user, and checks that without a recipient', async () => {
    await using world = await openWorld({ status: 403, text: 'Authorization failed for sendsms' })

    const health = await world.health()

    assert.equal(health['ready'], false)
    assert.match(String(health['words']), /^Kannel refuses the user, the password or the address of the adapter: /)
    assert.deepEqual(world.recipients, [undefined])
  })

  it('reports a Kannel that refuses connections as no fault of the message', async () => {
    await using world = await openWorld({ status: 202, text: '' })
    await world.closeKannel()

    const { code, class: kind, suspectsGateway } = await world.attempt()

    assert.deepEqual([kind, code, suspectsGateway], ['transient', 'gateway_unreachable', true])
  })

  it('believes a report about a message that it sent with the old secret', async () => {
    await using world = await openWorld({ status: 202, text: '0: Accepted for delivery' })
    await world.attempt()
    await world.changeSecret()

    const known = await fetch(world.reportUrl())
    const forged = await fetch(world.reportUrl().replace(/&k=[^&]*/, '&k='))

    assert.deepEqual([known.status, forged.status], [200, 401])
  })
})

interface Given {
  readonly status: number
  readonly text: string
  /** Whether the adapter polls the status page. */
  readonly hasStatus?: boolean
}

async function openWorld({ status, text, hasStatus = false }: Given) {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-kannel-'))
  const secretFile = join(folder, 'secret')
  const secret = newSecret()
  writeFileSync(secretFile, secret)
  const paths: string[] = []
  const recipients: unknown[] = []
  let reportUrl = ''
  const server = createServer((request, response) => {
    paths.push(request.url ?? '')
    recipients.push(request.headers['x-kannel-to'])
    reportUrl = String(request.headers['x-kannel-dlr-url'])
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const closeKannel = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const process = await AdapterProcess.create({
    program: ['adapters/kannel.mjs'],
    secretFile,
    log: join(folder, 'log'),
    arguments: ['--gateway', `${url}/`, ...(hasStatus ? ['--status', `${url}/status.xml`] : [])],
  })
  await process.start()
  const adapter = new AdapterUnderTest({ url: process.origin, keys: [keyOf(secret) ?? Buffer.alloc(0)] })
  return {
    paths,
    recipients,
    closeKannel,
    async health(): Promise<Readonly<Record<string, unknown>>> {
      const answer = await adapter.signed({ method: 'GET', path: '/health', id: `hea_${crypto.randomUUID()}` })
      if ('problem' in answer) throw new Error(answer.problem)
      return answer.value as Readonly<Record<string, unknown>>
    },
    reportUrl: () => reportUrl.replace('%d', '8').replace('%A', ''),
    async attempt(): Promise<Readonly<Record<string, unknown>>> {
      const attempted = await adapter.attempt(adapter.fieldsOf())
      if ('problem' in attempted) throw new Error(attempted.problem)
      return { ...attempted.outcome }
    },
    /** The old secret follows the new one in the file until Nuncio has the new one, too. */
    async changeSecret() {
      await process.kill()
      writeFileSync(secretFile, `${newSecret()}\n${secret}\n`)
      await process.start()
    },
    async [Symbol.asyncDispose]() {
      await process.kill()
      await closeKannel()
      rmSync(folder, { recursive: true })
    },
  }
}
