import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findNotes, obstacleTo, publishing, whyLeftOut } from './release.ts'

const CHANGELOG = `# Changelog

One line for each change.

## 0.2.0, 2027-03-01

- It sends faster.
- It waits better.

## 0.1.0

- It sends.

## 0.0.1
`

describe('the notes of a release', () => {
  it('are the section of the changelog for this version', () => {
    assert.equal(findNotes(CHANGELOG, '0.2.0'), '- It sends faster.\n- It waits better.\n')
    assert.equal(findNotes(CHANGELOG, '0.1.0'), '- It sends.\n')
  })

  it.each(['0.3.0', '0.2', '0.0.1', 'One'])('are missing if the changelog has no section for it: %s', (version) => {
    assert.equal(findNotes(CHANGELOG, version), null)
  })
})

describe('a release', () => {
  const ready = { changes: '', notes: '- It sends.\n', version: '0.1.0' }

  it('is made from committed files with a section in the changelog', () => {
    assert.equal(obstacleTo(ready), null)
  })

  it('is refused while files are not committed', () => {
    assert.match(obstacleTo({ ...ready, changes: '?? src/new.ts\n' }) ?? '', /^Files here are not .* committed: .*\.$/)
  })

  it('is refused without its section in the changelog', () => {
    assert.match(
      obstacleTo({ ...ready, notes: null }) ?? '',
      /^CHANGELOG\.md has no section for the version 0\.1\.0 .*\.$/,
    )
  })

  it('leaves out what cannot be built here, and says why', () => {
    const way = { what: 'the image', script: 'build:image', tool: 'buildah' }
    const scripts = { 'build:image': 'node build.ts' }

    assert.equal(whyLeftOut(way, { scripts, hasTool: () => true }), null)
    assert.match(whyLeftOut(way, { scripts, hasTool: () => false }) ?? '', /^buildah is not installed; .*\.$/)
    assert.match(whyLeftOut(way, { scripts: {}, hasTool: () => true }) ?? '', /build:image/)
  })

  it('names the command that publishes the image only if an image was built', () => {
    assert.match(publishing('0.1.0', ['nuncio-0.1.0.tgz', 'nuncio-image.tar']), /release\/nuncio-image\.tar/)
    assert.doesNotMatch(publishing('0.1.0', ['nuncio-0.1.0.tgz']), /docker/)
  })
})
