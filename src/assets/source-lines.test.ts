import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, it, onTestFinished } from 'vitest'
import { nameSourceLines, toSourceLine } from './source-lines.ts'

// The second line of the build is the eleventh of the source, from its fifth column on.
const MAP = { version: 3, sources: ['src/a.ts'], names: [], mappings: ';AAUI' }

describe('a stack trace', () => {
  it.each([
    [
      'keeps the code of an error of Node',
      () => join(1 as unknown as string),
      /^TypeError \[ERR_INVALID_ARG_TYPE\]: The "path" arg/,
    ],
    ['adds no code to other errors', () => fail({ code: 'E1' }), /^Error: failed\n {4}at /],
    ['needs no code', () => fail({}), /^Error: failed\n {4}at /],
  ])('%s', (_, cause, head) => {
    const before: unknown = Reflect.get(Error, 'prepareStackTrace')
    onTestFinished(() => void Reflect.set(Error, 'prepareStackTrace', before))
    nameSourceLines()

    let stack = ''
    try {
      cause()
    } catch (error) {
      stack = (error as Error).stack ?? ''
    }

    assert.match(stack, head)
  })
})

describe('a line of a stack trace', () => {
  it('names the place in the sources', () => {
    assert.equal(toSourceLine(`run (${build()}:2:1)`), 'run (src/a.ts:11:5)')
  })

  it('stays as it is where no map leads on', () => {
    const built = build()

    for (const line of [
      `run (${built}:1:1)`,
      'run (file:///nowhere/b.js:1:1)',
      'run (file://host/b.js:1:1)',
      'at node:internal/main:3:4',
      '',
    ])
      assert.equal(toSourceLine(line), line)
  })
})

function fail(facts: object): never {
  throw Object.assign(new Error('failed'), facts)
}

function build(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-lines-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'a.js.map'), JSON.stringify(MAP))
  return pathToFileURL(join(folder, 'a.js')).href
}
