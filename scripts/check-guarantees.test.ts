import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findGuarantees, findUnprovenOnEngines } from './check-guarantees.ts'

describe('the check of guarantees', () => {
  it.each([
    ['a heading', '## G1 durable'],
    ['an entry of a list', '- **G1 durable** A 200 means that the message survives.'],
    ['bold words', '**G1 durable** A 200 means that the message survives.'],
  ])('reads a guarantee from %s and misses its test', (_, page) => {
    assert.deepEqual(find(page, ''), ['docs/guarantees.md:1 promises G1, which no test proves'])
  })

  it.each([
    `it('G1: survives', () => {})`,
    `test('G1 survives', () => {})`,
    'it(`G1: survives on $' + '{engine}`, () => {})',
    `it.each([1, 2])('G1: survives %i', () => {})`,
    `describe('G1: durable', () => {})`,
    `it.skipIf(!hasXfs)('G1: survives a power cut', () => {})`,
  ])('is content with %s', (text) => {
    assert.deepEqual(find('## G1 durable', text), [])
  })

  it.each([`it('G1 G2: both', () => {})`, `it('G1, G2: both', () => {})`])('counts %s for both numbers', (text) => {
    assert.deepEqual(find('## G1 durable\n## G2 one by one', text), [])
  })

  it.each([
    `it.skip('G1: survives', () => {})`,
    `it.todo('G1: survives')`,
    `it('survives, see G1', () => {})`,
    `it('G12: explained', () => {})`,
    `// it('G1: survives', () => {})`,
  ])('does not take %s for a proof', (text) => {
    const found = find('## G1 durable\n## G12 no going back <!-- planned -->', text)

    assert.deepEqual(found, ['docs/guarantees.md:1 promises G1, which no test proves'])
  })

  it('finds a test of a guarantee that does not exist', () => {
    const found = find('## G1 durable <!-- planned -->', `\nit('G7: deleted', () => {})`)

    assert.deepEqual(found, ['test/a.test.ts:2 tests G7, which docs/guarantees.md does not promise'])
  })

  it('finds a number given twice', () => {
    const found = find('## G1 durable <!-- planned -->\n## G1 in order <!-- planned -->', '')

    assert.deepEqual(found, ['docs/guarantees.md:2 gives the number G1 a second time'])
  })

  it('allows prose to mention a guarantee, and a planned one to have no test yet', () => {
    assert.deepEqual(find('## G1 durable <!-- planned -->\nG9 is explained below.\n**G9** too.', ''), [])
  })

  it('reports that the page is missing', () => {
    assert.equal(findGuarantees(new Map()).length, 1)
  })
})

describe('the check of the table of engines', () => {
  const TEST = `it('G1: survives', () => {})`
  const LINK = '[a](../test/a.test.ts)'

  it('accepts a guarantee that `npm test` proves on both engines', () => {
    assert.deepEqual(findOnEngines(`- **G1 durable** …\n| G1 | ${LINK} | ${LINK} |`, { 'test/a.test.ts': TEST }), [])
  })

  it.each([
    ['there is no row', '', 'names no file of `npm test` that proves G1 on PostgreSQL'],
    ['there is no file', `| G1 | ${LINK} | – |`, 'names no file of `npm test` that proves G1 on PostgreSQL'],
    [
      'the file has no such test',
      `| G1 | ${LINK} | [b](../test/b.test.ts) |`,
      'names test/b.test.ts, where `npm test` does not prove G1 on PostgreSQL',
    ],
    [
      'the file is of another tier',
      `| G1 | ${LINK} | ${LINK}, [c](../test/faults/c.test.ts) |`,
      'names test/faults/c.test.ts, where `npm test` does not prove G1 on PostgreSQL',
    ],
  ])('finds that %s', (_, row, problem) => {
    const tests = { 'test/a.test.ts': TEST, 'test/b.test.ts': '', 'test/faults/c.test.ts': TEST }

    assert.equal(findOnEngines(`- **G1 durable** …\n${row}`, tests).at(-1), problem)
  })

  it('needs no row for a planned guarantee', () => {
    assert.deepEqual(findOnEngines('- **G1 durable** … <!-- planned -->', {}), [])
  })
})

function find(page: string, test: string) {
  const tree = new Map([
    ['docs/guarantees.md', page],
    ['test/a.test.ts', test],
  ])
  return findGuarantees(tree).map(({ file, line, problem }) => `${file}:${line} ${problem}`)
}

function findOnEngines(page: string, tests: Readonly<Record<string, string>>) {
  return findUnprovenOnEngines(new Map([['docs/guarantees.md', page], ...Object.entries(tests)])).map(
    ({ problem }) => problem,
  )
}
