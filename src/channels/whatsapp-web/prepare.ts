import type { Handover, Prepared } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import { uploadAttachment } from './media/upload-attachment.ts'
import { failureOfStatus, storageAway } from './outcome.ts'
import { stateOf, type WebSession } from './session.ts'
import type { MessageFields } from './thread/messages.ts'
import { wireIdOf } from './wire-id.ts'

export interface PrepareParts {
  readonly guarded: GuardedCall
  readonly clock: Clock
  /** True against the simulator alone. */
  readonly isLoopbackTaken: boolean
}

const READY: Prepared = { kind: 'ready' }

/** Uploads the attachment, unless that was done before, and stores what the message is sent as. `session`: as for `send`. */
export async function prepareAttachment(
  parts: PrepareParts,
  { handover, session }: { readonly handover: Handover; readonly session: WebSession | undefined },
  signal: AbortSignal,
): Promise<Prepared> {
  const { content, media, to } = handover
  if (content.type === 'message' || !media) return READY
  const state = stateOf(session)
  if ('name' in state) return { kind: 'failed', failure: failureOfStatus(state, parts.clock.now()) }
  const { contents, socket } = state
  const wireId = wireIdOf(handover)
  try {
    if (await contents.find(wireId)) return READY
    const mediaHosts = (isFresh: boolean) => socket.mediaHosts(isFresh)
    const end = await uploadAttachment({ ...parts, mediaHosts }, { content, media }, signal)
    if (end.kind === 'failed') return end
    await contents.keep(wireId, { to, fields: toFields(end.message) })
    return READY
  } catch {
    return { kind: 'failed', failure: storageAway() }
  }
}

function toFields(message: Readonly<Record<string, Readonly<Record<string, unknown>>>>): MessageFields {
  const text = (_: string, value: unknown) => (isBuffer(value) ? Buffer.from(value.data).toString('base64') : value)
  return JSON.parse(JSON.stringify(message), text) as MessageFields
}

/** As it stands in JSON. */
function isBuffer(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer'
}
