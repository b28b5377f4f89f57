import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, it, onTestFinished } from 'vitest'
import { skipNote } from '../black-box/skip-note.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { loadLibrary, whyNoLibrary } from './library.ts'
import { LibraryClient } from './library-client.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const NUMBER = '15550001000'
const REASON = whyNoLibrary()

class Run {
  readonly #process: ChildProcess
  stdout = ''
  stderr = ''

  constructor(...given: readonly string[]) {
    this.#process = spawn(process.execPath, [MAIN, ...given], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#process.stdout?.on('data', (text: Buffer) => (this.stdout += text.toString()))
    this.#process.stderr?.on('data', (text: Buffer) => (this.stderr += text.toString()))
    onTestFinished(() => void this.#process.kill('SIGKILL'))
  }

  type(line: string): void {
    this.#process.stdin?.write(`${line}\n`)
  }

  /** Resolves with the match in its output. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    await waitUntil(`the simulator says ${pattern.source}`, async () => pattern.test(this.stdout), {
      deadlineMs: 20_000,
      everyMs: 20,
    })
    return pattern.exec(this.stdout) as RegExpExecArray
  }

  async stop(): Promise<unknown> {
    this.#process.kill('SIGTERM')
    return this.ended()
  }

  async ended(): Promise<unknown> {
    const [code] = (await once(this.#process, 'close')) as [unknown]
    return code
  }
}

describe.skipIf(REASON)(`the command line of the simulator of WhatsApp Web${skipNote(REASON)}`, () => {
  it('prints settings with which a number can be linked and sends', async () => {
    const run = new Run('--port', '0')
    const [, url = '', key = ''] = await run.says(/^NUNCIO_WHATSAPP_WEB_URL="(ws:\S+)#(\S+)"$/m)
    const [, authority = ''] = await run.says(/^export NODE_EXTRA_CA_CERTS=(\S+)$/m)
    const library = await loadLibrary()
    library.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(key, 'base64url')
    const first = new LibraryClient({ library, url })
    run.type(`scan ${NUMBER} ${await first.nextCode()}`)
    await first.ended
    await run.says(/…1000 has linked the device 1/)
    const client = await LibraryClient.logIn({ library, url }, first.state)

    await client.socket.relayMessage('15551234567@s.whatsapp.net', { conversation: 'Hello' }, { messageId: '3EB0AA' })

    await run.says(/message to …4567: taken\n.*…4567 has decrypted it: text/)
    run.type(`lock ${NUMBER}`)
    await client.socket.relayMessage('15551234568@s.whatsapp.net', { conversation: 'Hello' }, { messageId: '3EB0AB' })
    await run.says(/message to …4568: not taken/)
    run.type(`unlink ${NUMBER}`)
    assert.equal((await client.ended).code, 401)
    const isThere = existsSync(authority)
    assert.deepEqual([await run.stop(), run.stderr], [0, ''])
    assert.deepEqual([isThere, existsSync(authority)], [true, false])
  })

  it('reports what is missing in a typed line', async () => {
    const run = new Run('--port', '0')
    run.type('scan me')
    await run.says(/Type: scan <number> <text>, type <number> <code>, unlink <number>, cut <number>, or lock <number>/)
    run.type(`scan ${NUMBER} https://wa.me/settings/linked_devices#a,b,c,d,1`)
    await run.says(/scan: no device shows this code any more/)
    run.type(`type ${NUMBER} ABCD-1234`)
    await run.says(/type: no device asked for a code for 15550001000/)
    run.type(`cut ${NUMBER}`)
    await run.says(/cut: 15550001000 is not logged in/)

    assert.equal(await run.stop(), 0)
  })

  it.each([
    [['--port', 'abc'], '--port must be a whole number from 0 to 65535, and “abc” is not.'],
    [['--colour'], 'Unknown option ’--colour’. --help lists the options.'],
  ])('says in one sentence what is wrong with %j', async (given, sentence) => {
    const run = new Run(...given)

    assert.equal(await run.ended(), 2)
    assert.equal(run.stderr.replaceAll("'", '’'), `simulate:whatsapp-web: ${sentence}\n`)
  })

  it('ends with one sentence when the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const run = new Run('--port', String((taken.address() as AddressInfo).port))

    assert.equal(await run.ended(), 2)
    assert.match(run.stderr, /^simulate:whatsapp-web: Another program listens on port \d+ already\. [^\n]+\n$/)
  })
})
