import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe, it, onTestFinished } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import { findPassages } from '../browser/find-passages.ts'
import type { SearchIndex } from '../browser/search-index.ts'
import { bundleBrowser } from './bundle-browser.ts'
import { type Bundle, makeSite, type Site } from './make-site.ts'
import { readSources } from './read-sources.ts'

let bundle: Bundle
let site: Site

beforeAll(async () => {
  bundle = await bundleBrowser(ROOT)
  site = makeSite(ROOT, bundle)
})

/** Pages by their addresses. */
function pagesOf({ files }: Site): Map<string, string> {
  const pages = [...files].filter(([, { type }]) => type.startsWith('text/html'))
  return new Map(pages.map(([address, { body }]) => [address, body.toString()]))
}

function indexOf({ files }: Site): SearchIndex {
  const [index] = [...files].filter(([address]) => /search-.*\.json$/.test(address))
  return JSON.parse(index?.[1].body.toString() ?? '') as SearchIndex
}

function homelessIn(root: string): readonly string[] {
  return readSources(root).homeless
}

describe('the documents as built', () => {
  it('have no problem: no dead link, no missing picture, no stale diagram', () => {
    assert.deepEqual(site.problems, [])
  })

  it('have a section for every page; name a new one in site/build/sections.ts', () => {
    assert.deepEqual(homelessIn(ROOT), [])
  })

  it('load only files that were built', () => {
    const elsewhere = new Set(['/console/'])
    const missing = [...pagesOf(site)].flatMap(([address, html]) =>
      [...html.matchAll(/ (?:href|src|data-search)="(\/[^"#]*)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !site.files.has(target) && !elsewhere.has(target))
        .map((target) => `${address} asks for ${target}`),
    )

    assert.deepEqual(missing, [])
  })

  it('link only to existing anchors', () => {
    const pages = pagesOf(site)
    const missing = [...pages].flatMap(([address, html]) =>
      [...html.matchAll(/ href="([^"#]*)#([^"]+)"/g)]
        .filter(([, target, id = '']) => !(pages.get(target || address) ?? '').includes(` id="${id}"`))
        .map(([, target, id]) => `${address}: ${target}#${id}`),
    )

    assert.deepEqual(missing, [])
  })

  it('have each id once, including ids of table rows', () => {
    for (const [address, html] of pagesOf(site)) {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.deepEqual(
        ids.filter((id, at) => ids.indexOf(id) !== at),
        [],
        address,
      )
    }
    assert.match(pagesOf(site).get('/docs/reasons') ?? '', /<tr id="media_status">/)
  })

  it('contain no script, no style and no foreign URL inside a page, as their policy requires', () => {
    for (const [address, html] of pagesOf(site)) {
      assert.doesNotMatch(html, /<script(?![^>]* src="\/docs\/assets\/)/, address)
      assert.doesNotMatch(html, /<style| style="| on[a-z]+="/, address)
      assert.doesNotMatch(html, /(?:src|<link[^>]*href)="(?:https?:)?\/\//, address)
    }
  })

  it('have one heading of the first degree and one title each', () => {
    const titles = [...pagesOf(site)].map(([address, html]) => {
      assert.equal(html.match(/<h1/g)?.length, 1, address)
      return /<title>(.*)<\/title>/.exec(html)?.[1]
    })
    assert.equal(new Set(titles).size, titles.length)
  })

  it('have one reading order: each page in the navigation leads to the next', () => {
    const pages = pagesOf(site)
    const inNavigation = pages.get('/docs/')?.match(/<nav id="pages"[\s\S]*?<\/nav>/)?.[0] ?? ''
    const listed = [...inNavigation.matchAll(/href="([^"]+)"/g)].map(([, address = '']) => address)
    const walked: string[] = []
    for (let at: string | undefined = '/docs/'; at !== undefined; ) {
      walked.push(at)
      at = /<a rel="next" href="([^"]+)"/.exec(pages.get(at) ?? '')?.[1]
    }

    assert.deepEqual(walked, listed)
  })

  it('are all in the search index', () => {
    const { pages } = indexOf(site)

    assert.deepEqual(
      new Set(pages.map(([address]) => address)),
      new Set([...pagesOf(site).keys()].filter((address) => address !== site.notFound)),
    )
  })
})

describe('the search in these documents', () => {
  const find = (query: string) => findPassages(indexOf(site), query)

  it.each([
    ['why was my message not sent', '/docs/guides/not-sent'],
    ['first whatsapp message', '/docs/guides/first-whatsapp-message'],
    ['opt out', '/docs/guides/recipients'],
    ['unsubscribe', '/docs/guides/recipients'],
    ['ssl', '/docs/operating/tls'],
    ['limits', '/docs/limits'],
    ['undelivered', '/docs/guides/not-sent'],
    ['rotate a token', '/docs/guides/tokens'],
    ['api key', '/docs/guides/tokens'],
    ['delete personal data', '/docs/operating/personal-data'],
    ['docker', '/docs/operating/install-docker'],
  ])('finds for “%s” the page %s among the first three', (query, address) => {
    const pages = [...new Set(find(query).map((found) => found.address.split('#')[0]))]

    assert.ok(pages.slice(0, 3).includes(address), pages.join(' '))
  })

  it('puts the changelog behind all other pages', () => {
    const pages = find('phone number connected').map((found) => found.address.split('#')[0])
    const at = pages.indexOf('/docs/changelog')

    assert.ok(at === -1 || pages.slice(at).every((address) => address === '/docs/changelog'), pages.join(' '))
    assert.ok(pages.some((address) => address !== '/docs/changelog'))
  })

  it('shows texts without the marks of Markdown', () => {
    const marked = indexOf(site).passages.filter(([, , , text]) => /```|\]\(|-{3,} -{3,}|^(?:sh|json|text) /.test(text))

    assert.deepEqual(marked, [])
  })
})

describe('the building of documents', () => {
  it.each([
    ['a page that is not there', '[gone](gone.md)', /links to gone\.md, which is not there/],
    ['a heading that is not there', '[gone](README.md#gone)', /no such heading/],
    ['a heading of its own that is not there', '[gone](#gone)', /no such heading/],
    ['a picture that is not there', '![A view](images/gone.png)', /gone\.png, which is not there/],
    ['a diagram without a picture', '```mermaid\nflowchart LR\n  a --> b\n```', /diagram without a picture/],
  ])('finds %s', (_, markdown, expected) => {
    const { problems } = makeSite(folderWith({ 'docs/README.md': `# Home\n\n${markdown}\n` }), bundle)

    assert.equal(problems.length, 1)
    assert.match(problems[0] ?? '', expected)
  })

  it('reports a page without a section, and still shows it', () => {
    const root = folderWith({ 'docs/README.md': '# Home', 'docs/new/page.md': '# New' })

    assert.deepEqual(homelessIn(root), ['docs/new/page.md'])
    assert.match(pagesOf(makeSite(root, bundle)).get('/docs/') ?? '', /href="\/docs\/new\/page"/)
  })

  it('adds a new page of a folder by itself', () => {
    const root = folderWith({ 'docs/README.md': '# Home', 'docs/guides/webhooks.md': '# Webhooks' })

    assert.deepEqual(homelessIn(root), [])
    assert.match(pagesOf(makeSite(root, bundle)).get('/docs/') ?? '', /<a href="\/docs\/guides\/webhooks">Webhooks</)
  })

  it('shows HTML in a page as text, and names files of the sources instead of linking to them', () => {
    const markdown = '# Home\n\n<script>alert(1)</script>\n\n[the rule](../src/rule.ts)\n'
    const root = folderWith({ 'docs/README.md': markdown, 'src/rule.ts': '' })

    const html = pagesOf(makeSite(root, bundle)).get('/docs/') ?? ''

    assert.match(html, /&lt;script&gt;alert\(1\)/)
    assert.match(html, /the rule \(<code class="source">src\/rule\.ts<\/code>\)/)
  })
})

function folderWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'nuncio-site-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}
