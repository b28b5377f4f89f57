import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { encryptedSize, encryptFile, type FileDigests, type FileSecret } from './encrypt-file.ts'

/** Where WhatsApp takes files for a while, and the token that it takes them with. */
export interface MediaHosts {
  readonly auth: string
  readonly hosts: readonly { readonly hostname: string; readonly maxContentLengthBytes: number }[]
}

export interface UploadFrom {
  readonly path: string
  readonly sizeBytes: number
  readonly secret: FileSecret
  readonly digests: FileDigests
}

/** What became of an upload. Whatever failed, no recipient has seen anything. */
export type UploadEnd =
  | { readonly kind: 'uploaded'; readonly url: string; readonly directPath: string }
  | { readonly kind: 'token-refused' }
  | { readonly kind: 'too-big' }
  | { readonly kind: 'unreachable'; readonly words: string }

const ORIGIN = 'https://web.whatsapp.com'
const OWN_DOMAIN = '.whatsapp.net'
const LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/
const MOST_ANSWER_BYTES = 10_000

/** Uploads to the first host that takes it. Rejects when the signal aborts or the file cannot be read. */
export async function uploadFile(
  dispatcher: Dispatcher,
  { file, to, isLoopbackTaken }: { file: UploadFrom; to: MediaHosts; isLoopbackTaken: boolean },
  signal: AbortSignal,
): Promise<UploadEnd> {
  const size = encryptedSize(file.sizeBytes)
  const hosts = to.hosts.filter(({ hostname }) => isOurs(hostname, isLoopbackTaken))
  if (hosts.length === 0) return { kind: 'unreachable', words: 'WhatsApp named no host for files' }
  const roomy = hosts.filter(({ maxContentLengthBytes: most }) => !(most < size))
  if (roomy.length === 0) return { kind: 'too-big' }
  let end: UploadEnd = { kind: 'unreachable', words: '' }
  for (const { hostname } of roomy) {
    end = await uploadTo(dispatcher, { file, hostname, auth: to.auth }, signal)
    if (end.kind !== 'unreachable') break
  }
  return end
}

/** The hosts come over the connection to WhatsApp, but they are still names from outside. */
function isOurs(hostname: string, isLoopbackTaken: boolean): boolean {
  return /^[a-z0-9.-]+$/i.test(hostname) && hostname.toLowerCase().endsWith(OWN_DOMAIN)
    ? true
    : isLoopbackTaken && LOOPBACK.test(hostname)
}

interface OneUpload {
  readonly file: UploadFrom
  readonly hostname: string
  readonly auth: string
}

async function uploadTo(
  dispatcher: Dispatcher,
  { file: { path, sizeBytes, secret, digests }, hostname, auth }: OneUpload,
  signal: AbortSignal,
): Promise<UploadEnd> {
  const token = digests.fileEncSha256.toString('base64url')
  try {
    const { statusCode, body } = await dispatcher.request({
      origin: `https://${hostname}`,
      path: `/mms/${secret.type}/${token}?${new URLSearchParams({ auth, token })}`,
      method: 'POST',
      headers: {
        origin: ORIGIN,
        'content-type': 'application/octet-stream',
        'content-length': String(encryptedSize(sizeBytes)),
      },
      body: Readable.from(encryptFile(path, secret)),
      signal,
    })
    return endOf(statusCode, await readAnswer(body))
  } catch (error) {
    signal.throwIfAborted()
    // Of the file, not of the connection.
    if (error instanceof Error && 'path' in error) throw error
    return { kind: 'unreachable', words: 'the connection to WhatsApp’s host for files failed' }
  }
}

/** Undefined when it is too long or no JSON. */
async function readAnswer(body: Dispatcher.ResponseData['body']): Promise<unknown> {
  let text = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += chunk.toString()
    if (text.length > MOST_ANSWER_BYTES) return undefined
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function endOf(status: number, answer: unknown): UploadEnd {
  if (status === 401 || status === 403) return { kind: 'token-refused' }
  if (status === 413) return { kind: 'too-big' }
  const { url, direct_path: directPath } = (answer ?? {}) as { url?: unknown; direct_path?: unknown }
  return status === 200 && typeof url === 'string' && typeof directPath === 'string'
    ? { kind: 'uploaded', url, directPath }
    : { kind: 'unreachable', words: `WhatsApp’s host for files answered ${status}` }
}
