import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { newSecret } from '../../../test/support/bridge/scripted-adapter.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))

describe('an adapter that is started wrongly', () => {
  let folder = ''
  const taken = createServer()
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-adapter-'))
    writeFileSync(join(folder, 'secret'), `${newSecret()}\n`)
    writeFileSync(join(folder, 'short'), 'whsec_c2hvcnQ=\n')
    mkdirSync(join(folder, 'folder'))
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    taken.close()
    rmSync(folder, { recursive: true })
  })

  it.concurrent.each([
    ['without a required option', { '--log': null }, /^nuncio: required option '--log <file>' not specified$/],
    ['with an option that there is not', { '--bogus': 'x' }, /^nuncio: unknown option '--bogus'$/],
    ['without the port', { '--listen': '127.0.0.1' }, /^--listen is HOST:PORT, such as 127\.0\.0\.1:7900\.$/],
    ['with a port that there is not', { '--listen': '127.0.0.1:70000' }, /^--listen is HOST:PORT, .*\.$/],
    ['at the port of another program', { '--listen': 'TAKEN' }, /^Nothing can listen on 127.* \(EADDRINUSE\): .*\.$/],
    [
      'without the file of the secret',
      { '--secret-file': 'no' },
      /^The file of --secret-file, no, cannot be read \(ENOENT\)\.$/,
    ],
    [
      'with a short secret',
      { '--secret-file': 'short' },
      /^The file of --secret-file, short, must hold whsec_… as Nuncio shows it\.$/,
    ],
    ['with a folder for its log', { '--log': 'folder' }, /^The file of --log, folder, cannot be used \(EISDIR\)\.$/],
    ['with a gateway that is no URL', { '--gateway': 'kannel' }, /^--gateway is a URL, such as http:.*\.$/],
    [
      'without the file of the password',
      { '--password-file': 'no' },
      /^The file of --password-file, no, cannot be read .*\.$/,
    ],
    ['with a wrong number of parts', { '--max-messages': 'ten' }, /^--max-messages is a number from 1 to 255\.$/],
  ] as const)('%s says so in one sentence', async (_, changed, sentence) => {
    const options: Readonly<Record<string, string | null>> = {
      '--listen': '127.0.0.1:0',
      '--secret-file': 'secret',
      '--log': `log-${crypto.randomUUID()}`,
      '--gateway': 'http://127.0.0.1:13013',
      ...changed,
    }
    const given = Object.entries(options).flatMap(([name, value]) => (value === null ? [] : [name, value]))
    const there = `127.0.0.1:${(taken.address() as AddressInfo).port}`

    const { code, stdout, stderr } = await start(given.map((text) => (text === 'TAKEN' ? there : text)))

    const [first = '', ...others] = stderr.trimEnd().split('\n')
    assert.match(first, sentence)
    assert.deepEqual(others, code === 2 ? ['Add --help to see how the command is used.'] : [])
    assert.equal(stdout, '')
    assert.ok(code === 1 || code === 2, `it ended with ${code}`)
  })

  function start(given: readonly string[]) {
    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      const options = { cwd: folder, timeout: 60_000 }
      execFile(process.execPath, [MAIN, 'adapter', 'kannel', ...given], options, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      )
    })
  }
})
