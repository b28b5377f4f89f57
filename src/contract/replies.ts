import { z } from 'zod'
import { REPLIES, type RefusalReplyKind } from './reply-table.ts'

/** What `data.state` may say on success. */
const SUCCESS_STATES = ['QUEUED', 'PUBLISHED'] as const
export type SuccessState = (typeof SUCCESS_STATES)[number]

const refusalKinds = Object.keys(REPLIES).filter((kind) => kind !== 'success') as RefusalReplyKind[]

// Strict: callers know the body of a success byte for byte, so nothing is ever added to it.
export const sendMessageResponse = z.strictObject({
  success: z.literal(true),
  code: z.literal(REPLIES.success.code),
  name: z.literal(REPLIES.success.name),
  data: z.strictObject({
    state: z.enum(SUCCESS_STATES).meta({
      description: '`PUBLISHED` only for a repeat under the same Idempotency-Key whose message has left by then.',
    }),
  }),
  message: z.literal(REPLIES.success.message),
})
export type SendMessageResponse = z.infer<typeof sendMessageResponse>

const refusalError = z.object({
  field: z.string().nullable().meta({
    description:
      'Path in the body such as `message.media.url`, or the name of a header; null when it is the whole request.',
  }),
  code: z.string().meta({ description: 'Stable code of what is wrong.' }),
  message: z.string().meta({ description: 'What is wrong and how to fix it.' }),
})

export const refusalResponse = z.object({
  success: z.literal(false),
  code: z.enum(refusalKinds.map((kind) => REPLIES[kind].code)),
  name: z.enum(refusalKinds.map((kind) => REPLIES[kind].name)),
  data: z.object({ errors: z.array(refusalError) }),
  message: z.string(),
})
export type RefusalResponse = z.infer<typeof refusalResponse>
export type RefusalResponseError = z.infer<typeof refusalError>

/** The key order is part of the contract: the body of a success is known to callers byte for byte. */
export function successBody(state: SuccessState): SendMessageResponse {
  const { code, name, message } = REPLIES.success
  return { success: true, code, name, data: { state }, message }
}

export function refusalBody(kind: RefusalReplyKind, errors: readonly RefusalResponseError[]): RefusalResponse {
  const { code, name, message } = REPLIES[kind]
  return { success: false, code, name, data: { errors: [...errors] }, message }
}
