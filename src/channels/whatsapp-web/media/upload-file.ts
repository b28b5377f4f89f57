import type { GuardedCall } from '../../../core/ports/guarded-call.ts'
import type { MediaHosts } from '../thread/messages.ts'
import { encryptedSize, encryptFile, type FileDigests, type FileSecret } from './encrypt-file.ts'

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
// What the device is linked as is a browser. It says no more than that.
const USER_AGENT = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)'
// The preparation of a message ends sooner.
const LONGEST_MS = 3_600_000

/** Uploads to the first host that takes it. Rejects when the signal aborts or the file cannot be read. */
export async function uploadFile(
  guarded: GuardedCall,
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
    end = await uploadTo(guarded, { file, hostname, auth: to.auth }, signal)
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
  guarded: GuardedCall,
  { file: { path, sizeBytes, secret, digests }, hostname, auth }: OneUpload,
  signal: AbortSignal,
): Promise<UploadEnd> {
  const token = digests.fileEncSha256.toString('base64url')
  const query = new URLSearchParams({ auth, token })
  const end = await guarded.call(
    {
      method: 'POST',
      url: `https://${hostname}/mms/${secret.type}/${token}?${query}`,
      headers: { origin: ORIGIN, 'user-agent': USER_AGENT, 'content-type': 'application/octet-stream' },
      body: { open: () => encryptFile(path, secret), sizeBytes: encryptedSize(sizeBytes) },
      timeoutMs: LONGEST_MS,
      mostAnswerBytes: MOST_ANSWER_BYTES,
    },
    { signal },
  )
  signal.throwIfAborted()
  return end.kind === 'answered'
    ? endOf(end.status, parseAnswer(end.body))
    : { kind: 'unreachable', words: 'the connection to WhatsApp’s host for files failed' }
}

/** Undefined when it is no JSON. */
function parseAnswer(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString())
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
