import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import { scriptsOf, wireBytes } from '../support/browser/first-view.ts'

const DIST = join(ROOT, 'console/dist')

// A slow phone connection loads this much in about a second. Code that is not needed to show a page is loaded later, by `lazy`.
const FIRST_VIEW_BYTES = 170_000
// Includes the list, the search and the chart of the log.
const LOGS_BYTES = 230_000

describe('the built console', () => {
  it.each([
    ['the overview', FIRST_VIEW_BYTES, ['layout/shell.tsx', 'features/overview/overview.tsx']],
    ['the sign-in', FIRST_VIEW_BYTES, ['features/people/sign-in.tsx']],
    ['the API logs', LOGS_BYTES, ['layout/shell.tsx', 'features/logs/logs.tsx']],
  ])('shows %s with at most %i bytes of script', (_, most, sources) => {
    const scripts = scriptsOf(DIST, ['index.html', ...sources])
    const bytes = wireBytes(DIST, scripts)

    assert.ok(bytes <= most, `${bytes} bytes in ${scripts.join(', ')}`)
  })

  it('has a compressed file beside every script and style', () => {
    const scripts = scriptsOf(DIST, ['index.html'])

    for (const script of scripts) assert.ok(existsSync(join(DIST, `${script}.gz`)) || wireBytes(DIST, [script]) < 1_024)
  })

  it('names all its style sheets in its page, because one that fails later is never retried', () => {
    const page = readFileSync(join(DIST, 'index.html'), 'utf8')
    const styles = readdirSync(join(DIST, 'assets')).filter((file) => file.endsWith('.css'))

    assert.deepEqual(
      styles.filter((file) => !page.includes(file)),
      [],
    )
  })

  it('has no inline script in its page, and a place for the nonce', () => {
    const page = readFileSync(join(DIST, 'index.html'), 'utf8')

    assert.doesNotMatch(page, /<script(?![^>]* src=)/)
    assert.match(page, /<meta property="csp-nonce" nonce="__NONCE__"/)
  })
})
