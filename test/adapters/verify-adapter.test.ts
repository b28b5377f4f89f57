import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'
import type { CaseResult } from '../../src/operations/verify-adapter/adapter-case.ts'
import { verifyAdapter } from '../../src/operations/verify-adapter/verify-adapter.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { BROKEN_ADAPTERS, type BrokenAdapter } from '../support/bridge/broken-adapters.ts'
import { AdapterProcess } from '../support/bridge/run-adapter.ts'
import { newSecret } from '../support/bridge/scripted-adapter.ts'
import { CliOn } from '../support/journey/cli-on.ts'

const ADAPTERS = fileURLToPath(new URL('../../adapters/', import.meta.url))
const TO = '15551230001'
const FROM = '15550009000'

describe('the check of an adapter', () => {
  it('finds no fault in the adapter for Kannel, and sends only to the recipient of the test', async () => {
    await using world = await openWorld({ isBetween: true })
    const { sent, proxy, receipts, restart } = world

    const asked = await resultsOf(world, { proxy })
    const sentWithout = sent.length
    const all = await resultsOf(world, { to: TO, from: FROM, proxy, receipts, restart })

    assert.deepEqual([asked, all].map(wrongOf), [[], []])
    assert.equal(sentWithout, 0)
    assert.deepEqual(new Set(sent), new Set([TO]))
    assert.ok(all.length > asked.length + 15)
  })

  it('sends nothing when it cannot listen for receipts', async () => {
    await using world = await openWorld()

    await assert.rejects(
      resultsOf(world, { to: TO, from: FROM, receipts: 'nowhere' }),
      /Nothing can listen on nowhere\./,
    )

    assert.deepEqual(world.sent, [])
  })

  it.concurrent.each(Object.entries(BROKEN_ADAPTERS))('notices an adapter that %s', async (_, broken) => {
    const { shownBy, title } = broken
    await using world = await openWorld({ broken, isBetween: shownBy === 'disturbed' })
    const { proxy, receipts, restart } = world

    const results = await resultsOf(world, {
      ...(shownBy === 'asked' ? {} : { to: TO, from: FROM }),
      ...(shownBy === 'disturbed' ? { proxy } : {}),
      ...(shownBy === 'reported' ? { receipts } : {}),
      ...(shownBy === 'restarted' ? { restart } : {}),
    })

    const wrong = wrongOf(results)
    assert.ok(
      wrong.some((line) => title.test(line)),
      `it found ${JSON.stringify(wrong)}`,
    )
  })
})

describe('adapter verify', () => {
  it('prints one line for each promise, and ends with 0 or 1', async () => {
    await using world = await openWorld()
    const cli = new CliOn(world.folder)
    const other = join(world.folder, 'other')
    writeFileSync(other, newSecret())

    const good = await cli.run('adapter', 'verify', world.url, '--secret-file', world.secretFile)
    const bad = await cli.run('adapter', 'verify', world.url, '--secret-file', other)

    assert.deepEqual([good.code, bad.code], [0, 1])
    assert.match(good.stdout, /^(?:ok {5}\S.*\n)+(\d+) of \1 promises are kept\.\n$/)
    assert.equal(
      bad.stdout,
      'WRONG  describes itself at GET /health, and signs it: It answered 401.\n0 of 1 promises are kept.\n',
    )
  })

  it.each([
    ['an address that is none', ['7900'], /The address of the adapter is a URL/],
    ['a file without a secret', ['URL', '--secret-file', 'EMPTY'], /must hold whsec_/],
    ['receipts without a number', ['URL', '--receipts', '127.0.0.1:0'], /give --to as well/],
    ['a proxy without a number', ['URL', '--proxy', '127.0.0.1:0=http://x'], /give --to as well/],
    ['a number that is none', ['URL', '--to', 'me'], /number_malformed/],
    ['no number to send from', ['URL', '--to', TO], /Give one of them with --from/],
    [
      'a proxy without a gateway',
      ['URL', '--to', TO, '--from', FROM, '--proxy', '127.0.0.1:0'],
      /--proxy is HOST:PORT=URL/,
    ],
    ['restarts without a terminal', ['URL', '--restart'], /a person at a terminal/],
  ])('refuses %s in one sentence', async (_, given, sentence) => {
    await using world = await openWorld()
    const empty = join(world.folder, 'empty')
    writeFileSync(empty, '')
    const args = given.map((text) => (text === 'URL' ? world.url : text === 'EMPTY' ? empty : text))
    const secret = given.includes('--secret-file') ? [] : ['--secret-file', world.secretFile]

    const { code, stderr } = await new CliOn(world.folder).run('adapter', 'verify', ...args, ...secret)

    assert.match(stderr, sentence)
    assert.equal(stderr.trimEnd().split('\n').length, 1)
    assert.notEqual(code, 0)
  })
})

type World = Awaited<ReturnType<typeof openWorld>>
type Given = Partial<Omit<Parameters<typeof verifyAdapter>[0], 'url' | 'secrets'>>

async function resultsOf({ url, secretFile }: World, given: Given): Promise<readonly CaseResult[]> {
  const secrets = readFileSync(secretFile, 'utf8')
  const none = { to: null, from: null, receipts: null, proxy: null, restart: null }
  const results: CaseResult[] = []
  for await (const result of verifyAdapter({ url, secrets, ...none, ...given })) results.push(result)
  return results
}

function wrongOf(results: readonly CaseResult[]): readonly string[] {
  return results.flatMap(({ title, problem }) => (problem === null ? [] : `${title}: ${problem}`))
}

interface Wanted {
  readonly broken?: BrokenAdapter
  /** The adapter reaches its gateway only through the check. */
  readonly isBetween?: boolean
}

/** The adapter for Kannel or a broken copy, in front of a server that answers as Kannel does. */
async function openWorld({ broken, isBetween = false }: Wanted = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-verify-'))
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, `${newSecret()}\n`)
  for (const file of ['adapter.mjs', 'kannel.mjs'])
    writeFileSync(join(folder, file), brokenCode(readFileSync(join(ADAPTERS, file), 'utf8'), file, broken))
  const gateway = await fakeKannel()
  const between = `127.0.0.1:${await findFreePort()}`
  const adapter = await AdapterProcess.create({
    program: [join(folder, 'kannel.mjs')],
    secretFile,
    log: join(folder, 'log'),
    arguments: ['--gateway', isBetween ? `http://${between}` : gateway.url],
  })
  await adapter.start()
  return {
    folder,
    secretFile,
    url: adapter.origin,
    sent: gateway.sent,
    proxy: `${between}=${gateway.url}`,
    receipts: `127.0.0.1:${await findFreePort()}`,
    restart: async () => {
      await adapter.kill()
      await adapter.start()
    },
    async [Symbol.asyncDispose]() {
      await adapter.kill()
      await gateway.close()
      rmSync(folder, { recursive: true })
    },
  }
}

function brokenCode(text: string, file: string, broken: BrokenAdapter | undefined): string {
  if (!broken || (broken.file ?? 'adapter.mjs') !== file) return text
  assert.ok(text.includes(broken.code), `${file} has no ${broken.code}`)
  return text.replace(broken.code, () => broken.instead)
}

/** Accepts everything, and reports it as sent. */
async function fakeKannel() {
  const sent: string[] = []
  const server = createServer((request, response) => {
    const url = String(request.headers['x-kannel-dlr-url'] ?? '')
    if (url === '') return response.writeHead(400).end('Missing receiver number, rejected')
    sent.push(String(request.headers['x-kannel-to']))
    setTimeout(() => get(url.replace('%d', '8').replace('%A', '')).on('error', () => {}), 50)
    return response.writeHead(202).end('0: Accepted for delivery')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    sent,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
