import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path/posix'
import { makeTryForm } from './api-form.ts'
import { type DiagramBlock, findDiagrams, hashIn, pictureFile, sizeOf, sourceHash } from './diagrams.ts'
import { escapeHtml } from './escape-html.ts'
import { framePage, type SiteFiles } from './frame-page.ts'
import { makeSearchIndex } from './make-search-index.ts'
import { readSources, type Source } from './read-sources.ts'
import { type Rendered, renderMarkdown, type Surroundings } from './render-markdown.ts'

/** A file that the service serves. */
interface SiteFile {
  readonly body: Buffer
  readonly type: string
}

export interface Site {
  /** By address, such as `/docs/guides/tokens`. */
  readonly files: ReadonlyMap<string, SiteFile>
  /** The page for unknown addresses. */
  readonly notFound: string
  /** Faults of the pages, such as broken links. */
  readonly problems: readonly string[]
}

/** Built scripts and styles by name. */
export type Bundle = ReadonlyMap<
  'theme.js' | 'docs.js' | 'try-call.js' | 'style.css' | 'inter.woff2' | 'icon.svg',
  Buffer
>

const HTML = 'text/html; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.pdf': 'application/pdf',
  '.mp4': 'video/mp4',
  '.wav': 'audio/wav',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
}
const NOT_FOUND = '/docs/404'
const NOT_FOUND_TEXT = `# There is no such page

It may have been renamed. Find it in the list of pages, or search: press \`/\`.

[To the start page](README.md)
`

export function makeSite(root: string, bundle: Bundle): Site {
  return new SiteMaker(root, bundle).make()
}

class SiteMaker {
  readonly #root: string
  readonly #bundle: Bundle
  readonly #pages: readonly Source[]
  readonly #byFile: ReadonlyMap<string, Source>
  readonly #files = new Map<string, SiteFile>()
  readonly #problems: string[] = []

  constructor(root: string, bundle: Bundle) {
    const { pages } = readSources(root)
    this.#root = root
    this.#bundle = bundle
    this.#pages = pages
    this.#byFile = new Map(pages.map((page) => [page.file, page]))
  }

  make(): Site {
    const rendered = this.#pages.map((page) => ({ page, ...this.#render(page) }))
    const index = Buffer.from(JSON.stringify(makeSearchIndex(rendered)))
    const files: SiteFiles = {
      theme: this.#addBundled('theme.js'),
      docs: this.#addBundled('docs.js'),
      tryCall: this.#addBundled('try-call.js'),
      style: this.#addStyle(),
      icon: this.#addBundled('icon.svg'),
      search: this.#addAsset('search.json', index),
    }
    const read = this.#pages.filter(({ section }) => section !== null)
    for (const { page, html, headings } of rendered) {
      const at = read.indexOf(page)
      const [before, after] = at === -1 ? [] : [read[at - 1], read[at + 1]]
      const neighbours = { before: before ?? null, after: after ?? null }
      const framed = framePage({ page, html, headings, pages: read, ...neighbours, files })
      this.#files.set(page.address, { body: Buffer.from(framed), type: HTML })
    }
    this.#addNotFound(read, files)
    this.#addSamples()
    this.#checkAnchors(rendered)
    return { files: this.#files, notFound: NOT_FOUND, problems: this.#problems }
  }

  /** Samples have fixed addresses, because messages name them; see `sampleFiles`. */
  #addSamples(): void {
    const folder = join(this.#root, 'docs/samples')
    if (!existsSync(folder)) return
    for (const name of readdirSync(folder)) {
      const body = readFileSync(join(folder, name))
      this.#files.set(`/docs/samples/${name}`, { body, type: TYPES[extname(name)] ?? 'application/octet-stream' })
    }
  }

  #addNotFound(pages: readonly Source[], files: SiteFiles): void {
    const page = {
      file: 'docs/404.md',
      address: NOT_FOUND,
      title: 'There is no such page',
      markdown: NOT_FOUND_TEXT,
      section: null,
    }
    const { html } = this.#render(page)
    const framed = framePage({ page, html, headings: [], pages, before: null, after: null, files })
    this.#files.set(NOT_FOUND, { body: Buffer.from(framed), type: HTML })
  }

  #render(page: Source): Rendered {
    const diagrams = findDiagrams(page.file, page.markdown)
    const surroundings: Surroundings = {
      link: (href, html) => this.#link(page, href, html),
      image: (href, alt) => this.#image(page, href, alt),
      diagram: (source) => this.#diagram(diagrams.find((block) => block.source === source)),
      insert: (name) => (name === 'try-a-call' ? makeTryForm() : ''),
    }
    return renderMarkdown(page.markdown, surroundings)
  }

  #link(page: Source, href: string, html: string): string {
    if (/^[a-z]+:/.test(href)) return `<a href="${escapeHtml(href)}" rel="noreferrer">${html}</a>`
    if (href.startsWith('#')) return `<a href="${escapeHtml(href)}">${html}</a>`
    const [path = '', anchor] = href.split('#')
    const target = join(dirname(page.file), path)
    const known = this.#byFile.get(target)
    if (known) return `<a href="${known.address}${anchor === undefined ? '' : `#${anchor}`}">${html}</a>`
    if (!existsSync(join(this.#root, target))) this.#problems.push(`${page.file} links to ${href}, which is not there`)
    // A source file. The service does not serve those, so its name is shown instead.
    const name = target.replace(/\/$/, '')
    return html.includes(name) ? html : `${html} (<code class="source">${escapeHtml(name)}</code>)`
  }

  #image(page: Source, href: string, alt: string): string {
    const target = join(dirname(page.file), href)
    if (alt.trim() === '') this.#problems.push(`${page.file} shows ${href} without words for people who cannot see it`)
    const shown = this.#addPicture(target)
    if (shown === null) {
      this.#problems.push(`${page.file} shows ${href}, which is not there`)
      return escapeHtml(alt)
    }
    const dark = this.#addPicture(target.replace('-light.', '-dark.')) ?? shown
    const picture = ({ address, size }: Picture, scheme: string) =>
      `<a class="only-${scheme}" href="${address}"><img src="${address}" alt="${escapeHtml(alt)}"${size} loading="lazy"></a>`
    return dark === shown || dark.address === shown.address
      ? picture(shown, 'any')
      : `${picture(shown, 'light')}${picture(dark, 'dark')}`
  }

  #addPicture(file: string): Picture | null {
    if (!existsSync(join(this.#root, file))) return null
    const body = readFileSync(join(this.#root, file))
    return { address: this.#addAsset(basename(file), body), size: pngSize(body) }
  }

  #diagram(block: DiagramBlock | undefined) {
    if (!block) return null
    const [light, dark] = (['light', 'dark'] as const).map((scheme) => {
      const file = join(this.#root, pictureFile(block, scheme))
      return existsSync(file) ? readFileSync(file, 'utf8') : ''
    })
    if (!light || !dark || [light, dark].some((svg) => hashIn(svg) !== sourceHash(block))) {
      this.#problems.push(`${block.file} has a diagram without a picture of it; draw it with \`npm run diagrams\``)
      return null
    }
    const { title, description } = block
    return {
      light: this.#addAsset(`${block.name}-light.svg`, Buffer.from(light)),
      dark: this.#addAsset(`${block.name}-dark.svg`, Buffer.from(dark)),
      ...sizeOf(light),
      ...{ title, description },
    }
  }

  #addStyle(): string {
    const font = basename(this.#addBundled('inter.woff2'))
    const style = this.#bundle.get('style.css')?.toString() ?? ''
    return this.#addAsset('style.css', Buffer.from(style.replace('inter.woff2', font)))
  }

  #addBundled(name: Parameters<Bundle['get']>[0]): string {
    return this.#addAsset(name, this.#bundle.get(name) ?? Buffer.alloc(0))
  }

  /** The address has a hash of the content, so that browsers may cache it for ever. */
  #addAsset(name: string, body: Buffer): string {
    const type = TYPES[extname(name)] ?? 'application/octet-stream'
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 10)
    const address = `/docs/assets/${basename(name, extname(name))}-${hash}${extname(name)}`
    this.#files.set(address, { body, type })
    return address
  }

  /** Checks that the headings and rows that links lead to exist. */
  #checkAnchors(rendered: readonly (Rendered & { readonly page: Source })[]): void {
    const ids = new Map(
      rendered.map(({ page, headings, rowIds }) => [
        page.address,
        new Set([...headings.map(({ id }) => id), ...rowIds]),
      ]),
    )
    for (const { page, html } of rendered) {
      for (const [, link = ''] of html.matchAll(/<a (?:class="[^"]*" )?href="([^"]+)"/g)) {
        const [address = '', anchor] = link.split('#')
        const target = ids.get(address === '' ? page.address : address)
        if (anchor !== undefined && target && !target.has(decodeURIComponent(anchor)))
          this.#problems.push(`${page.file} links to ${link}, but there is no such heading`)
      }
    }
  }
}

interface Picture {
  readonly address: string
  readonly size: string
}

/** The size of a picture, so that the page does not jump when the picture arrives. */
function pngSize(body: Buffer): string {
  if (body.readUInt32BE(0) !== 0x89504e47) return ''
  return ` width="${body.readUInt32BE(16)}" height="${body.readUInt32BE(20)}"`
}
