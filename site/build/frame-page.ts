import { escapeHtml } from './escape-html.ts'
import type { Source } from './read-sources.ts'
import type { Heading } from './render-markdown.ts'
import { SECTIONS } from './sections.ts'

/** The addresses of the files that every page loads. */
export interface SiteFiles {
  readonly theme: string
  readonly docs: string
  readonly tryCall: string
  readonly style: string
  readonly icon: string
  readonly search: string
}

export interface Framing {
  readonly page: Source
  readonly html: string
  readonly headings: readonly Heading[]
  /** All pages, in the order in which they are read. */
  readonly pages: readonly Source[]
  readonly before: Source | null
  readonly after: Source | null
  readonly files: SiteFiles
}

// A page with fewer headings needs no table of contents.
const HEADINGS_WORTH_A_TABLE = 2

/** The whole document of a page: its text in the middle, navigation around it. */
export function framePage({ page, html, headings, pages, before, after, files }: Framing): string {
  const title = page.address === '/docs/' ? 'Nuncio' : `${page.title} · Nuncio`
  // Only the page with the form for calls loads its script.
  const tries = html.includes('data-try-call') ? `<script type="module" src="${files.tryCall}"></script>` : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${files.icon}" type="image/svg+xml">
<script src="${files.theme}"></script>
<link rel="stylesheet" href="${files.style}">
<script type="module" src="${files.docs}"></script>${tries}
</head>
<body data-search="${files.search}">
<a class="skip" href="#content">Skip to the text</a>
<header class="top">
<button type="button" class="plain" data-menu aria-expanded="false" aria-controls="pages">Pages</button>
<a class="brand" href="/docs/"><img src="${files.icon}" alt="" width="24" height="24"> Nuncio <span>docs</span></a>
<search><form data-search-form>
<label class="unseen" for="search">Search the docs</label>
<input id="search" type="search" placeholder="Search (press /)" autocomplete="off" spellcheck="false">
<p class="unseen" role="status" data-search-status></p>
<ul data-search-results hidden></ul>
</form></search>
<a class="plain" href="/console/">Console</a>
<button type="button" class="plain" data-theme-switch>Dark</button>
</header>
<div class="layout">
<nav id="pages" class="pages" aria-label="Pages">
${navigation(pages, page)}
</nav>
<main id="content" tabindex="-1">
<article>
${html}</article>
${beforeAndAfter(before, after)}
</main>
${tableOfContents(headings)}
</div>
</body>
</html>
`
}

function navigation(pages: readonly Source[], current: Source): string {
  return SECTIONS.map(({ title }) => {
    const inside = pages.filter(({ section }) => section === title)
    if (inside.length === 0) return ''
    const items = inside.map((page) => {
      const here = page === current ? ' aria-current="page"' : ''
      return `<li><a href="${page.address}"${here}>${escapeHtml(shortTitle(page))}</a></li>`
    })
    return `<h2>${escapeHtml(title)}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
  }).join('\n')
}

function shortTitle({ address, title }: Source): string {
  return address === '/docs/' ? 'Where to begin' : title
}

function beforeAndAfter(before: Source | null, after: Source | null): string {
  if (!before && !after) return ''
  const link = (page: Source | null, rel: string, words: string) =>
    page
      ? `<a rel="${rel}" href="${page.address}"><span>${words}</span> ${escapeHtml(shortTitle(page))}</a>`
      : '<span></span>'
  return `<nav class="neighbours" aria-label="Before and after">${link(before, 'prev', 'Before:')}${link(after, 'next', 'Next:')}</nav>`
}

function tableOfContents(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < HEADINGS_WORTH_A_TABLE) return ''
  const items = shown.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2>\n<ul>\n${items.join('\n')}\n</ul></nav>`
}
