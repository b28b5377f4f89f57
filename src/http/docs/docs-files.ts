import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { relativeTo } from '../server/public-path.ts'
import type { Encoding } from './choose-encoding.ts'

interface Listed {
  readonly file: string
  readonly type: string
  readonly hash: string
  readonly isCompressed: boolean
}

/** The build's list of its files. */
interface List {
  readonly notFound: string
  readonly files: Readonly<Record<string, Listed>>
}

export interface FoundFile {
  readonly body: Buffer
  /** False: this is the page “not found”. */
  readonly isThere: boolean
  readonly headers: Readonly<Record<'content-type' | 'cache-control' | 'etag' | 'vary', string>> &
    Readonly<Record<string, string>>
}

const ENDING_OF: Readonly<Record<Encoding, string>> = { br: '.br', identity: '' }
const FOR_GOOD = 'public, max-age=31536000, immutable'
// Cached, but revalidated each time: a page has the same address after an upgrade.
const ASK_AGAIN = 'no-cache'

/**
 * The files of the built documents. Only files in the build's list are served, so no path leads out of the folder. They
 * are read each time: they are small, and a new build is served at once.
 */
export class DocsFiles {
  readonly #folder: string
  #list: { readonly at: number; readonly list: List } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Null when there is no build, or it is being replaced. */
  async find(path: string, wanted: Encoding): Promise<FoundFile | null> {
    try {
      const list = await this.#read()
      const isThere = path !== list.notFound && Object.hasOwn(list.files, path)
      const listed = list.files[isThere ? path : list.notFound]
      if (!listed) return null
      const encoding = listed.isCompressed ? wanted : 'identity'
      const file = await readFile(join(this.#folder, `${listed.file}${ENDING_OF[encoding]}`))
      // “Not found” is shown at any depth, so its links are made relative here; the build does so for all other pages.
      const body = isThere ? file : Buffer.from(relativeTo(path, file.toString()))
      return { body, isThere, headers: headersOf(listed, { path, isThere, encoding }) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  async #read(): Promise<List> {
    const file = join(this.#folder, 'site.json')
    const { mtimeMs } = await stat(file)
    if (this.#list?.at !== mtimeMs) {
      this.#list = { at: mtimeMs, list: JSON.parse(await readFile(file, 'utf8')) as List }
    }
    return this.#list.list
  }
}

interface Served {
  readonly path: string
  readonly isThere: boolean
  readonly encoding: Encoding
}

function headersOf({ type, hash }: Listed, { path, isThere, encoding }: Served): FoundFile['headers'] {
  const keeping = path.startsWith('/docs/assets/') ? FOR_GOOD : ASK_AGAIN
  return {
    'content-type': type,
    'cache-control': isThere ? keeping : 'no-store',
    // Weak, because all encodings of the file have the same tag.
    etag: `W/"${hash}"`,
    vary: 'accept-encoding',
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    // An SVG opened by itself is a document that could run scripts.
    ...(type.startsWith('image/svg') && { 'content-security-policy': `default-src 'none'; sandbox` }),
  }
}
