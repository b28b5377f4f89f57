import { openAsBlob } from 'node:fs'
import type { MediaContent, MediaFile } from '../../core/message/message.ts'
import type { Failure, Handover, Prepared } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { GraphAnswer, GraphClient } from './graph-client.ts'
import { mimeForNetwork, whyNotForNetwork, whyNotOpus } from './media-rules.ts'
import { type OpenedSettings, openSettings } from './opened-settings.ts'
import { failureOf, graphErrorOf, isSuccess, isVerified, memberOf, notSent } from './outcome.ts'
import type { UploadKey, UploadMemory } from './upload-memory.ts'

export interface UploadParts {
  readonly client: Pick<GraphClient, 'call'>
  readonly uploads: UploadMemory
  readonly secrets: Secrets
  readonly clock: Clock
}

const READY: Prepared = { kind: 'ready' }

/** Brings the attachment to Meta, unless it has it already. Repeating it is harmless: it makes another upload. */
export async function prepareUpload(parts: UploadParts, handover: Handover, signal: AbortSignal): Promise<Prepared> {
  const { content, media } = handover
  if (content.type === 'message' || !media) return READY
  try {
    const failure = await upload(parts, { ...handover, content, media }, signal)
    return failure ? { kind: 'failed', failure } : READY
  } catch {
    return { kind: 'failed', failure: storageAway() }
  }
}

/** Where the upload of a message is stored; also for the send call. */
export function uploadKeyOf(
  { connectionId }: Pick<Handover, 'connectionId'>,
  { phoneNumberId }: { readonly phoneNumberId: string },
  { content, media }: { readonly content: MediaContent; readonly media: MediaFile },
): UploadKey {
  return { connectionId, phoneNumberId, media: { sha256: media.sha256, mime: mimeForNetwork(content, media) } }
}

function mediaLost(): Failure {
  return transient('media_lost', 'the fetched file is no longer in the spool')
}

export function storageAway(): Failure {
  return transient('storage_unavailable', 'what is remembered of the connection could not be read or written')
}

type WithMedia = Handover & { readonly content: MediaContent; readonly media: MediaFile }

/** Null when Meta has it now. */
async function upload(parts: UploadParts, handover: WithMedia, signal: AbortSignal): Promise<Failure | null> {
  const { content, media } = handover
  const opened = openSettings(handover.settings, handover, parts.secrets)
  if ('code' in opened) return opened
  const key = uploadKeyOf(handover, opened.settings, handover)
  const { mime } = key.media
  const why = whyNotForNetwork(content.type, { mime, sizeBytes: media.sizeBytes })
  if (why !== null) return refused(why)
  if (await parts.uploads.find(key)) return null
  const file = await openFile(media.path, mime)
  if (!file) return mediaLost()
  const whyNot = mime === 'audio/ogg' ? await whyNotOpus(media.path) : null
  if (whyNot !== null) return refused(whyNot)
  const answer = await callUpload(parts.client, { opened, file }, signal)
  const id = uploadedId(answer)
  if (id === null) return uploadFailure(answer, opened)
  await parts.uploads.keep(key, { id, uploadedAt: parts.clock.now() })
  return null
}

/** Null when it is gone, which the library says in an error without a code of its own. */
async function openFile(path: string, type: string): Promise<Blob | null> {
  try {
    return await openAsBlob(path, { type })
  } catch {
    return null
  }
}

interface Uploading {
  readonly opened: OpenedSettings
  readonly file: Blob
}

/** Meta's page “Media”: its table asks for all three fields, though its example has two. */
function callUpload(
  client: UploadParts['client'],
  { opened: { settings, accessToken }, file }: Uploading,
  signal: AbortSignal,
): Promise<GraphAnswer> {
  const body = { fields: { messaging_product: 'whatsapp', type: file.type }, file }
  const path = `/${settings.graphVersion}/${settings.phoneNumberId}/media`
  return client.call({ method: 'POST', path, accessToken, body }, { signal })
}

function uploadedId(answer: GraphAnswer): string | null {
  if (answer.kind !== 'answered' || !isSuccess(answer.status)) return null
  const id = memberOf(answer.body, 'id')
  return typeof id === 'string' && id !== '' ? id : null
}

/** Whatever became of the bytes: an upload sends no message, so it is simply done again. */
function uploadFailure(answer: GraphAnswer, { hidden }: OpenedSettings): Failure {
  const error = graphErrorOf(answer, hidden)
  if (error && isVerified(error)) return failureOf(error)
  if (answer.kind === 'not-sent') return notSent(answer)
  const words =
    answer.kind === 'unknown' ? answer.words : `Meta answered the upload with HTTP ${answer.status} and no id`
  return { ...transient('network_error', words), suspectsNetwork: true }
}

function refused(words: string): Failure {
  return { class: 'permanent', code: 'media_not_for_network', words, suspectsNetwork: false, retryAfterMs: null }
}

function transient(code: Failure['code'], words: string): Failure {
  return { class: 'transient', code, words, suspectsNetwork: false, retryAfterMs: null }
}
