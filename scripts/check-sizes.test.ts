import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findSizes } from './check-sizes.ts'

describe('the check of sizes', () => {
  it('finds a file over 400 lines', () => {
    assert.match(findOnly('src/core/long.ts', lines(401)).problem, /has 401 lines, more than 400/)
  })

  it('finds a function over 80 lines, its name and where it starts', () => {
    const found = findOnly('src/core/long.ts', `\nconst decide = () => {\n${lines(80)}}\n`)

    assert.match(found.problem, /function decide has 82 lines/)
    assert.equal(found.line, 2)
  })

  it('finds a method over 80 lines', () => {
    assert.match(findOnly('src/core/long.ts', `class A {\n  stop() {\n${lines(80)}}\n}\n`).problem, /function stop/)
  })

  it.each([
    ['braces in text', `const a = () => '{'\nconst b = () => \`{\${'{'}\`\n${lines(90)}`],
    ['braces in patterns and comments', `const a = (t: string) => /[{]/.test(t) // {\n/* { */\n${lines(90)}`],
  ])('is not misled by %s', (_, text) => {
    assert.deepEqual(find({ 'src/core/odd.ts': text }), [])
  })

  it('does not count a suite of tests as one function', () => {
    const suite = `describe.each([1])('lane %s', () => {\n${`it('rests', () => {})\n`.repeat(100)}})\n`

    assert.deepEqual(find({ 'src/core/lane.test.ts': suite }), [])
  })

  it.each([
    'test/conformance/channel.ts',
    'src/storage/sqlite/migrations/0001-start.sql',
    'src/storage/sqlite/schema.sql',
  ])('lets %s be long', (file) => {
    assert.deepEqual(find({ [file]: lines(500), 'src/storage/README.md': '' }), [])
  })

  it.each([
    ['README.md', 130],
    ['CONTRIBUTING.md', 150],
    ['src/core/README.md', 30],
  ])('keeps %s within %i lines', (file, limit) => {
    assert.deepEqual(find({ [file]: lines(limit) }), [])
    assert.equal(find({ [file]: lines(limit + 1) }).length, 1)
  })

  it('finds a folder of src without a README', () => {
    const found = findSizes(new Map([['src/media/fetch.ts', '']]))

    assert.deepEqual(
      found.map(({ file, problem }) => `${file} ${problem}`),
      ['src/media/README.md is missing'],
    )
  })
})

function find(files: Readonly<Record<string, string>>) {
  return findSizes(new Map(Object.entries({ 'src/core/README.md': '', ...files })))
}

function findOnly(file: string, text: string) {
  const found = find({ [file]: text })
  assert.equal(found.length, 1)
  return found[0]!
}

function lines(count: number) {
  return '// a line\n'.repeat(count)
}
