import { Marked, type Tokens } from 'marked'
import type { Diagram } from './diagrams.ts'
import { escapeHtml } from './escape-html.ts'
import { highlightCode } from './highlight-code.ts'

export interface Heading {
  readonly depth: number
  readonly id: string
  readonly text: string
}

/** The text below a heading, for the search. */
interface Passage {
  readonly heading: Heading | null
  readonly text: string
}

export interface Rendered {
  readonly html: string
  readonly headings: readonly Heading[]
  /** The ids of the table rows that begin with a code, such as `media_dns`. */
  readonly rowIds: readonly string[]
  readonly passages: readonly Passage[]
}

/** The functions that a page needs for links, pictures and inserts. */
export interface Surroundings {
  /** The HTML of a link, given the HTML of its text. */
  link(href: string, html: string): string
  image(href: string, alt: string): string
  /** Null: there is no picture, so the source is shown. */
  diagram(source: string): Diagram | null
  /** The HTML that takes the place of `<!-- name -->`. */
  insert(name: string): string
}

export function renderMarkdown(markdown: string, surroundings: Surroundings): Rendered {
  const headings: Heading[] = []
  const passages: { heading: Heading | null; text: string }[] = [{ heading: null, text: '' }]
  const ids = new Map<string, number>()
  const rowIds = new Set<string>()
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const text = plainText(this.parser.parseInline(tokens))
        const heading = { depth, id: uniqueId(ids, slugOf(text)), text }
        headings.push(heading)
        const html = this.parser.parseInline(tokens)
        if (depth === 1) return `<h1 id="${heading.id}">${html}</h1>\n`
        const anchor = `<a class="anchor" href="#${heading.id}" aria-label="Link to “${escapeHtml(text)}”">#</a>`
        return `<h${depth} id="${heading.id}">${html}${anchor}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return surroundings.link(href, this.parser.parseInline(tokens))
      },
      image({ href, text }) {
        return surroundings.image(href, text)
      },
      code({ text, lang = '' }) {
        return lang === 'mermaid' ? diagramOf(text, surroundings) : codeBlock(text, lang)
      },
      table(token) {
        return tableOf(token, rowIds, (tokens) => this.parser.parseInline(tokens))
      },
      // No page needs HTML, so accidental HTML is shown as text.
      html({ text }) {
        const [, name] = /^<!-- ([a-z-]+) -->\s*$/.exec(text) ?? []
        if (name !== undefined) return surroundings.insert(name)
        return text.startsWith('<!--') ? '' : escapeHtml(text)
      },
    },
  })
  const tokens = marked.lexer(markdown)
  const html = marked.parser(tokens)
  let next = 0
  for (const token of tokens) {
    if (token.type === 'heading') passages.push({ heading: headings[next++] ?? null, text: '' })
    else if (token.type !== 'code' || token.lang !== 'mermaid') {
      const last = passages.at(-1)
      if (last) last.text += ` ${token.type === 'code' ? token.text : textOf(token.raw)}`
    }
  }
  return {
    html,
    headings,
    rowIds: [...rowIds],
    passages: passages.filter(({ heading, text }) => heading !== null || text.trim() !== ''),
  }
}

function diagramOf(source: string, surroundings: Surroundings): string {
  const diagram = surroundings.diagram(source)
  if (!diagram) return codeBlock(source, 'mermaid')
  const picture = (scheme: 'light' | 'dark') =>
    // A link to the picture alone, where it can be enlarged.
    `<a class="only-${scheme}" href="${diagram[scheme]}"><img src="${diagram[scheme]}" alt="${escapeHtml(diagram.description)}" width="${diagram.width}" height="${diagram.height}" loading="lazy"></a>`
  const caption = escapeHtml(diagram.title)
  return `<figure class="diagram">${picture('light')}${picture('dark')}<figcaption>${caption}</figcaption></figure>\n`
}

function codeBlock(text: string, language: string): string {
  const label = language === '' ? 'Text' : `Code, ${language}`
  // Focusable, because the keyboard scrolls only the focused element.
  return `<div class="code"><pre tabindex="0" role="group" aria-label="${escapeHtml(label)}"><code>${highlightCode(text, language)}</code></pre></div>\n`
}

function tableOf(
  { header, rows }: Tokens.Table,
  rowIds: Set<string>,
  inline: (tokens: Tokens.TableCell['tokens']) => string,
): string {
  const head = header.map(({ tokens }) => headCell(inline(tokens))).join('')
  const body = rows
    .map((row) => `<tr${rowId(row, rowIds)}>${row.map(({ tokens }) => `<td>${inline(tokens)}</td>`).join('')}</tr>`)
    .join('\n')
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>\n`
}

/** A row that begins with a code can be linked to; the first one, if several begin with the same. */
function rowId([first]: readonly Tokens.TableCell[], rowIds: Set<string>): string {
  const [, code] = /^`([a-z0-9_]+)`$/.exec(first?.text ?? '') ?? []
  if (code === undefined || rowIds.has(code)) return ''
  rowIds.add(code)
  return ` id="${code}"`
}

/** A screen reader would announce an empty heading. */
function headCell(html: string): string {
  return html === '' ? '<td></td>' : `<th scope="col">${html}</th>`
}

/** The same ids as on GitHub, so that a link works in both places. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

function uniqueId(ids: Map<string, number>, slug: string): string {
  const before = ids.get(slug) ?? 0
  ids.set(slug, before + 1)
  return before === 0 ? slug : `${slug}-${before}`
}

function plainText(html: string): string {
  return html
    .replace(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}

/** The text of Markdown without its markup. */
function textOf(raw: string): string {
  return (
    raw
      .replace(/<!--.*?-->/gs, ' ')
      // The line below the header of a table, and fences within lists.
      .replace(/^[ \t]*[-:|][-:| \t]*$|^[ \t]*`{3,}.*$/gm, ' ')
      // The marks of lists and quotations, and the separators around and between table cells.
      .replace(/^[ \t]*(?:[-*>]|\d+\.)[ \t]+|^[ \t]*\||\|[ \t]*$/gm, ' ')
      .replace(/(?<!\\)\|/g, ' · ')
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[`*\\]+/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  )
}
