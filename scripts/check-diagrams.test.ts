import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findDiagrams, pictureFile, SCHEMES, sourceHash } from '../site/build/diagrams.ts'
import { findStaleDiagrams } from './check-diagrams.ts'
import { readTree } from './source-tree.ts'

const BLOCK = '```mermaid\nflowchart LR\n  accTitle: A way\n  accDescr: From here to there.\n  here --> there\n```\n'

function picturesOf(file: string, markdown: string): Map<string, string> {
  return new Map(
    findDiagrams(file, markdown).flatMap((block) =>
      SCHEMES.map((scheme) => [pictureFile(block, scheme), `<svg data-source="${sourceHash(block)}"/>`] as const),
    ),
  )
}

describe('the check of diagrams', () => {
  const pages = new Map([['docs/guides/way.md', `# A way\n\n${BLOCK}`]])
  const pictures = picturesOf('docs/guides/way.md', BLOCK)

  it('accepts a picture of the current diagram', () => {
    assert.deepEqual(findStaleDiagrams(pages, pictures), [])
  })

  it('finds a missing picture, even in only one scheme', () => {
    const [first = ''] = pictures.keys()
    const without = new Map([...pictures].filter(([file]) => file !== first))

    assert.match(findStaleDiagrams(pages, without)[0]?.problem ?? '', /missing or stale/)
  })

  it('finds a picture of an earlier diagram', () => {
    const changed = new Map([['docs/guides/way.md', BLOCK.replace('here -->', 'here ==>')]])

    assert.equal(findStaleDiagrams(changed, pictures).length, 1)
  })

  it('finds a picture without a diagram, and a diagram without a description', () => {
    const bare = '```mermaid\nflowchart LR\n  a --> b\n```\n'
    const drawn = picturesOf('docs/bare.md', bare)

    assert.match(findStaleDiagrams(new Map(), drawn)[0]?.problem ?? '', /picture of no diagram/)
    assert.match(findStaleDiagrams(new Map([['docs/bare.md', bare]]), drawn)[0]?.problem ?? '', /without words/)
  })
})

describe('the pictures', () => {
  const drawn = readTree('docs/diagrams/*.svg')

  it.each([...drawn.keys()])('%s is small, and contains no script, style, HTML or foreign URL', (file) => {
    const svg = drawn.get(file) ?? ''

    assert.ok(svg.length < 30_000)
    assert.doesNotMatch(svg, /<(?:script|style|foreignObject|image|use|a)\b| (?:href|on\w+|style)=|url\((?!#)/)
    assert.doesNotMatch(svg.replace('xmlns="http://www.w3.org/2000/svg"', ''), /https?:/)
  })
})
