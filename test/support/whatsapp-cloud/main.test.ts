import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, it, onTestFinished } from 'vitest'
import { waitUntil } from '../black-box/wait-until.ts'
import { readArguments, WrongUse } from './read-arguments.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const DEADLINE = { deadlineMs: 20_000, everyMs: 20 }

class Run {
  readonly #process: ChildProcess
  stdout = ''
  stderr = ''

  constructor(...given: readonly string[]) {
    // A standard input from /dev/null ends at once.
    this.#process = spawn(process.execPath, [MAIN, ...given], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#process.stdout?.on('data', (text: Buffer) => (this.stdout += text.toString()))
    this.#process.stderr?.on('data', (text: Buffer) => (this.stderr += text.toString()))
    onTestFinished(() => void this.#process.kill('SIGKILL'))
  }

  async says(text: string): Promise<void> {
    await waitUntil(`the simulator says ${text}`, async () => this.stdout.includes(text), DEADLINE)
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

describe('the command line of the simulator', () => {
  it.each([
    [['--port', 'abc'], '--port must be a whole number from 0 to 65535, and “abc” is not.'],
    [['--port', '99999'], '--port must be a whole number from 0 to 65535, and “99999” is not.'],
    [['--colour'], 'Unknown option ’--colour’. --help lists the options.'],
    [
      ['--number', '12ab'],
      '--number must be 7 to 15 digits with the country code, such as 15550003000, and “12ab” is not.',
    ],
    [
      ['--callback-url', 'here'],
      '--callback-url must be an address that begins with http:// or https://, and “here” is not.',
    ],
    [['--callback-delay', 'soon'], '--callback-delay must be a whole number from 0 to 3600000, and “soon” is not.'],
  ])('says in one sentence what is wrong with %j', (given, sentence) => {
    assert.throws(
      () => readArguments(given, '15550003000'),
      (error) => error instanceof WrongUse && error.message.replaceAll("'", '’') === sentence,
    )
  })

  it('ends with one sentence when the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const run = new Run('--port', String(port))

    assert.equal(await run.ended(), 2)
    assert.match(run.stderr, /^simulate:whatsapp-cloud: Another program listens on port \d+ already\. [^\n]+\n$/)
  })

  it('stops in order without a terminal, and reports how a URL answered the challenge', async () => {
    const wrong = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
    onTestFinished(() => void wrong.close())
    await once(wrong, 'listening')
    const { port } = wrong.address() as AddressInfo
    const run = new Run('--port', '0', '--callback-url', `http://127.0.0.1:${port}/`)

    await run.says('the address did NOT give the challenge back, it answered 404')

    assert.deepEqual([await run.stop(), run.stderr], [0, ''])
  })

  it('reports that the challenge got no answer', async () => {
    const run = new Run('--port', '0', '--callback-url', 'http://127.0.0.1:9/')

    await run.says('the address did NOT give the challenge back: it did not answer')

    assert.equal(await run.stop(), 0)
  })
})
