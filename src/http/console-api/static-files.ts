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
 * The built pages. Their files have a hash of what is in them in their names, so browsers may keep them for good; the page
 * that names them is asked for each time, and serves every address that the browser's own router knows.
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
    // It would only say that they have not been built, which the page itself says better.
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

  /** A file that is missing is no page: a script that gets a page instead would only fail in a stranger way. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const [path = ''] = request.url.split('?')
    if (path.startsWith(`${CONSOLE_API}/`) || path.startsWith('/console/assets/'))
      throw new Refusal('console_route_unknown')
    const html = await this.#read()
    // For people: they have opened an address, and no program reads this.
    if (html === null) return reply.code(503).type('text/plain; charset=utf-8').send(`${REFUSALS.console_not_built}\n`)
    const nonce = randomBytes(NONCE_BYTES).toString('base64')
    reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy(nonce))
    // The nonce comes last: it may begin with a slash.
    return reply.send(relativeTo(path, html).replaceAll(NONCE_PLACE, nonce))
  }

  /** Null when it has not been built. Read each time anew: it is small, and one that is built while we run is served at once. */
  async #read(): Promise<string | null> {
    try {
      return await readFile(join(this.#parts.pagesFolder, 'index.html'), 'utf8')
    } catch {
      return null
    }
  }
}
