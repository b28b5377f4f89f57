import type { FastifyInstance, FastifyReply } from 'fastify'
import { hijackReply } from '../server/hijack-reply.ts'
import { publicPathOf } from '../server/public-path.ts'
import { chooseEncoding } from './choose-encoding.ts'
import { DocsFiles, type FoundFile } from './docs-files.ts'
import { docsHeaders } from './docs-headers.ts'

interface DocsParts {
  /** The folder of the built documents; see `site/build`. */
  readonly folder: string
  readonly publicUrl: string
}

const NOT_BUILT = 'The documents are missing. Install Nuncio again; in a clone, `npm start` builds them.\n'

/** Serves the documents to everyone. They are built beforehand. */
export function addDocsPages(app: FastifyInstance, { folder, publicUrl }: DocsParts): void {
  const files = new DocsFiles(folder)
  const isSecure = publicUrl.startsWith('https://')
  const publicPath = publicPathOf(publicUrl)
  app.get('/docs', (_request, reply) => redirect(reply, `${publicPath}/docs/`))
  app.get('/docs/*', (request, reply) => {
    const [path = ''] = request.url.split('?')
    // Links copied from GitHub end in `.md`, and people add `.html` or a slash: all lead to the page.
    const [, page] = /^(\/docs\/.+?)(?:\/|\.md|\.html)$/.exec(path) ?? []
    return page === undefined ? send({ files, isSecure, path }, reply) : redirect(reply, publicPath + page)
  })
}

interface Asked {
  readonly files: DocsFiles
  readonly isSecure: boolean
  readonly path: string
}

/** Writes the reply without Fastify, so that every reply carries its request id. */
async function send({ files, isSecure, path }: Asked, reply: FastifyReply): Promise<void> {
  const context = hijackReply(reply)
  try {
    const { headers } = context.request
    const encoding = chooseEncoding(headers['accept-encoding'])
    const found = await files.find(path, encoding)
    await context.drain()
    if (context.isReplied) return
    const { status, head, body } = answerTo(found, headers['if-none-match'])
    context.response.writeHead(status, { ...docsHeaders({ isSecure }), ...head, ...context.handOver() })
    context.response.end(body)
  } catch (error) {
    context.fail(error)
  }
}

function answerTo(found: FoundFile | null, known: string | undefined) {
  if (!found) {
    const head = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
    return { status: 503, head, body: NOT_BUILT }
  }
  const { body, isThere, headers } = found
  if (isThere && hasEntityTag(known, headers.etag)) return { status: 304, head: headers, body: '' }
  return { status: isThere ? 200 : 404, head: { ...headers, 'content-length': body.length }, body }
}

function redirect(reply: FastifyReply, address: string): void {
  hijackReply(reply).reply(308, ['location', address, 'content-length', '0'], '')
}

/** Whether a header `If-None-Match` names this tag. */
export function hasEntityTag(header: string | undefined, tag: string): boolean {
  // Split at the comma alone: a pattern like /\s*,\s*/ is quadratic in a long run of blanks.
  return (header ?? '').split(',').some((known) => known.trim() === tag)
}
