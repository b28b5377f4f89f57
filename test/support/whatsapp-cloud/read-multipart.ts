interface MultipartFile {
  readonly filename: string
  /** The type that the part declares; empty if it declares none. */
  readonly mime: string
  readonly bytes: Buffer
}

interface Multipart {
  readonly fields: ReadonlyMap<string, string>
  readonly files: ReadonlyMap<string, MultipartFile>
}

const LINE = Buffer.from('\r\n')
const END_OF_HEAD = Buffer.from('\r\n\r\n')

/** Parses a multipart/form-data body; null if it is not one. */
export function readMultipart(contentType: string, body: Buffer): Multipart | null {
  const [, quoted, plain] = /^multipart\/form-data\s*;.*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return null
  const separator = Buffer.from(`--${boundary}`)
  const fields = new Map<string, string>()
  const files = new Map<string, MultipartFile>()
  let from = body.indexOf(separator)
  while (from !== -1) {
    const start = from + separator.length
    if (body.toString('latin1', start, start + 2) === '--') return { fields, files }
    const next = body.indexOf(Buffer.concat([LINE, separator]), start)
    const headEnd = body.indexOf(END_OF_HEAD, start)
    if (next === -1 || headEnd === -1 || headEnd > next) return null
    const head = body.toString('utf8', start + LINE.length, headEnd)
    const bytes = body.subarray(headEnd + END_OF_HEAD.length, next)
    const name = /\bname="([^"]*)"/i.exec(head)?.[1]
    const filename = /\bfilename="([^"]*)"/i.exec(head)?.[1]
    if (name === undefined) return null
    if (filename === undefined) fields.set(name, bytes.toString())
    else files.set(name, { filename, mime: /^content-type:\s*(\S+)/im.exec(head)?.[1] ?? '', bytes })
    from = next + LINE.length
  }
  // The body was cut off: the last separator is missing.
  return null
}
