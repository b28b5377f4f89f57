import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fastifyStatic } from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { REFUSALS, Refusal } from '../../core/refusals.ts'
import { publicPathOf, relativeTo } from '../server/public-path.ts'
import { CONSOLE_API, type ConsoleParts } from './console-parts.ts'
import { pagePolicy } from './headers.ts'

const NONCE_BYTES = 16
const NONCE_PLACE = '__NONCE__'
const HOUR_MS = 3_600_000
const YEAR_MS = 31_536_000_000

type PageParts = Pick<ConsoleParts, 'pagesFolder' | 'publicUrl'>

/**
 * The built pages. Asset names contain a hash of their content, so browsers may cache them for ever. The page that names
 * them is loaded each time, and serves every address that the browser's router knows.
 */
export async function addConsolePages(app: FastifyInstance, parts: PageParts): Promise<void> {
  const page = new ConsolePage(parts)
  const home = `${publicPathOf(parts.publicUrl)}/console/`
  app.get('/', (_request, reply) => reply.redirect(home, 302))
  app.get('/console', (_request, reply) => reply.redirect(home, 302))
  await app.register(fastifyStatic, {
    root: join(parts.pagesFolder, 'assets'),
    prefix: '/console/assets/',
    immutable: true,
    maxAge: YEAR_MS,
    preCompressed: true,
    index: false,
    decorateReply: true,
    // The warning only says that the pages are not built, which the page itself says better.
    suppressWarning: true,
  })
  app.get('/console/:file(^[\\w-]+\\.(?:ico|png|svg|txt|webmanifest)$)', (request, reply) => {
    const { file } = request.params as { readonly file: string }
    return reply.sendFile(file, parts.pagesFolder, { immutable: false, maxAge: HOUR_MS })
  })
  app.get('/console/*', (request, reply) => page.send(request, reply))
}

class ConsolePage {
  readonly #parts: PageParts

  constructor(parts: PageParts) {
    this.#parts = parts
  }

  /** A missing file is not answered with the page: a script would then fail in a less obvious way. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [path = ''] = request.url.split('?')
    if (path.startsWith(`${CONSOLE_API}/`) || path.startsWith('/console/assets/'))
      throw new Refusal('console_route_unknown')
    const html = await this.#read()
    // Plain text, because people open this address, not programs.
    if (html === null) return reply.code(503).type('text/plain; charset=utf-8').send(`${REFUSALS.console_not_built}\n`)
    const nonce = randomBytes(NONCE_BYTES).toString('base64')
    reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy(nonce))
    // The nonce comes last: it may begin with a slash.
    return reply.send(relativeTo(path, html).replaceAll(NONCE_PLACE, nonce))
  }

  /** Null when it is not built. Read each time: it is small, and a new build is served at once. */
  async #read(): Promise<string | null> {
    try {
      return await readFile(join(this.#parts.pagesFolder, 'index.html'), 'utf8')
    } catch {
      return null
    }
  }
}
