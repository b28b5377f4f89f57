import type { Failure, Handover, Outcome, SentAs, StillHolds } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { meaningOfWhatsAppCloud } from '../../core/reasons/whatsapp-cloud.ts'
import type { GraphClient } from './graph-client.ts'
import { bodyOf, whyTooLong } from './message-body.ts'
import { WHATSAPP_CLOUD } from './name.ts'
import type { NumberMemory } from './number-memory.ts'
import { type OpenedSettings, openSettings } from './opened-settings.ts'
import { type GraphError, type ReadAnswer, readAnswer } from './outcome.ts'
import type { Pace, PacedMessage } from './pace.ts'
import { paceOf } from './rate-limit-delay.ts'
import { writeCorrelationData } from './statuses/correlation-data.ts'
import { WINDOW_CLOSED } from './statuses/report-cost.ts'
import { fitTemplate, type TemplateFit } from './templates.ts'
import { storageAway, uploadKeyOf } from './upload.ts'
import type { Upload, UploadKey, UploadMemory } from './upload-memory.ts'
import type { WindowMemory } from './window-memory.ts'

export interface SendParts {
  readonly client: Pick<GraphClient, 'call'>
  readonly uploads: UploadMemory
  readonly windows: WindowMemory
  readonly numbers: NumberMemory
  readonly pace: Pace
  readonly secrets: Secrets
  readonly clock: Clock
  readonly note: (event: JournalEvent) => void
}

interface Limits {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

/** A message, ready for the call. */
interface Draft {
  readonly handover: Handover
  readonly opened: OpenedSettings
  /** Null for text. */
  readonly upload: { readonly key: UploadKey; readonly found: Upload } | null
  /** Null: in free form. */
  readonly template: Extract<TemplateFit, { readonly fits: true }> | null
}

type Drafted = Draft | { readonly failure: Failure }

/** A younger upload was made for this very message, so another one would not help. */
const UPLOAD_EXPIRES_AFTER_MS = 60 * 60_000
/** Meta answers with one of these when it no longer has an upload, among other reasons (its page “Error codes”). */
const UPLOAD_CODES: readonly number[] = [100, 131_009, 131_053]

/** Makes one call to Meta. Apart from that it changes only what later attempts use. */
export async function sendToCloud(parts: SendParts, handover: Handover, limits: Limits): Promise<Outcome> {
  const drafted = await draft(parts, handover).catch(() => ({ failure: storageAway() }))
  if ('failure' in drafted) return { kind: 'rejected', failure: drafted.failure }
  const result = await call(parts, drafted, limits)
  const paced = pacedOf(parts, handover)
  const { outcome, error } = result
  const form = sentAs(drafted)
  if (outcome.kind === 'accepted') parts.pace.accepted(paced)
  if (!error) return { ...outcome, ...form }
  noteUnknown(parts, handover, error)
  if (outcome.kind !== 'rejected') return { ...outcome, ...form }
  // It is certain that nothing was sent, even if what follows cannot be stored.
  return { kind: 'rejected', failure: await afterRefusal(parts, drafted, { error, failure: outcome.failure }), ...form }
}

function sentAs({ template: fit, upload }: Draft): { readonly sentAs?: SentAs } {
  if (!fit && !upload) return {}
  const template = fit && `${fit.template.name} (${fit.template.language})`
  return { sentAs: { ...(template && { template }), ...(upload && { uploadedAs: upload.key.media.mime }) } }
}

async function draft(parts: SendParts, handover: Handover): Promise<Drafted> {
  const { content, settings: stored } = handover
  const opened = openSettings(stored, handover, parts.secrets)
  if ('code' in opened) return { failure: opened }
  const tooLong = whyTooLong(content)
  if (tooLong !== null) return { failure: permanent('content_refused', tooLong) }
  const upload = await findUpload(parts, handover, opened)
  if (upload === 'missing') return { failure: notReady() }
  const fit = await closedFit(parts, handover, opened)
  if (fit && !fit.fits) return { failure: permanent(fit.code, fit.words) }
  return { handover, opened, upload, template: fit }
}

async function findUpload(
  { uploads }: SendParts,
  handover: Handover,
  { settings }: OpenedSettings,
): Promise<Draft['upload'] | 'missing'> {
  const { content, media } = handover
  if (content.type === 'message') return null
  if (!media) return 'missing'
  const key = uploadKeyOf(handover, settings, { content, media })
  const found = await uploads.find(key)
  return found ? { key, found } : 'missing'
}

/**
 * The template for a recipient whose window is known to be closed; null: free form is allowed, as far as is known. Without any
 * template in the settings there is nothing to choose: Meta is called each time and decides.
 */
async function closedFit(
  { windows, clock }: SendParts,
  { connectionId, to, content }: Handover,
  { settings: { templates } }: OpenedSettings,
): Promise<TemplateFit | null> {
  if (Object.keys(templates).length === 0) return null
  return (await windows.isClosed(connectionId, to, clock.now())) ? fitTemplate(content, templates) : null
}

async function call(
  parts: SendParts,
  { handover, opened, upload, template }: Draft,
  limits: Limits,
): Promise<ReadAnswer> {
  const { accessToken, settings, hidden } = opened
  const { messageId, attemptNumber, content, to } = handover
  const body = bodyOf({
    to,
    content,
    uploadId: upload?.found.id ?? null,
    linkPreview: settings.linkPreview,
    opaque: writeCorrelationData({
      messageId,
      attemptNumber,
      form: template ? 'template' : content.type,
      recipient: to,
    }),
    template,
  })
  const path = `/${settings.graphVersion}/${settings.phoneNumberId}/messages`
  const answer = await parts.client.call(
    { method: 'POST', path, accessToken, body: Buffer.from(JSON.stringify(body)) },
    limits,
  )
  if (answer.kind !== 'not-sent') parts.pace.took(pacedOf(parts, handover), parts.clock.now())
  return readAnswer(answer, hidden)
}

/** Remembers what a refusal says about later attempts, and returns the failure of this one. */
async function afterRefusal(
  parts: SendParts,
  { handover, opened, upload, template }: Draft,
  { error, failure }: { readonly error: GraphError; readonly failure: Failure },
): Promise<Failure> {
  const { clock, windows, uploads, pace } = parts
  const now = clock.now()
  if (meaningOfWhatsAppCloud(error.code)?.class === 'pair')
    return { ...failure, retryAfterMs: pace.refused(pacedOf(parts, handover), now) }
  try {
    if (error.code === WINDOW_CLOSED && !template) {
      const { templates } = opened.settings
      if (Object.keys(templates).length === 0) return failure
      await windows.closeNow(handover.connectionId, handover.to, now)
      const fit = fitTemplate(handover.content, templates)
      // Tried again as soon as possible: the next attempt finds the window closed and sends a template.
      return fit.fits ? retriedSoon(failure) : permanent(fit.code, `${fit.words}; Meta says: ${error.words}`)
    }
    const mayHaveExpired = upload && now - upload.found.uploadedAt >= UPLOAD_EXPIRES_AFTER_MS
    if (mayHaveExpired && UPLOAD_CODES.includes(error.code)) {
      await uploads.forget(upload.key)
      return { ...notReady(), words: error.words }
    }
  } catch {
    return storageAway()
  }
  return failure
}

function noteUnknown({ note }: SendParts, { connectionId, messageId }: Handover, { code, status }: GraphError): void {
  if (meaningOfWhatsAppCloud(code) === null)
    note({ event: 'network.code_unknown', channel: WHATSAPP_CLOUD, connectionId, messageId, code, status })
}

function pacedOf({ numbers }: SendParts, { connectionId, to, settings }: Handover): PacedMessage {
  return { connectionId, to, perSecond: paceOf(numbers, connectionId, settings) }
}

function retriedSoon(failure: Failure): Failure {
  return { ...failure, class: 'transient', retryAfterMs: 0 }
}

function notReady(): Failure {
  return {
    class: 'transient',
    code: 'media_not_ready',
    words: null,
    suspectsNetwork: false,
    retryAfterMs: 0,
  }
}

function permanent(code: Failure['code'], words: string): Failure {
  return { class: 'permanent', code, words, suspectsNetwork: false, retryAfterMs: null }
}
