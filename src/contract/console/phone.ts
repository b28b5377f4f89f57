import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { done, inAccount, instant } from './shapes.ts'
import { plain } from './viewer-text.ts'

/** The status of a connection that is a linked device of a phone. */
export const phoneView = z.object({
  /** `ready`, or what keeps it from that. */
  status: plain,
  sentence: plain,
  /** Null: there is nothing to do. */
  nextStep: plain.nullable(),
  /** Null: nothing is known of it yet. */
  since: instant.nullable(),
  isLinked: z.boolean(),
  /** It may be logged in again by a person. */
  canUseHere: z.boolean(),
  lastLogin: z.object({ at: instant, device: plain, version: plain }).nullable(),
})
export type PhoneView = z.output<typeof phoneView>

const phoneRequestKind = z.enum(['qr', 'code', 'use-here', 'unlink'])
export type PhoneRequestKind = z.output<typeof phoneRequestKind>

/** A person's request about the phone's link, and how far it is. */
const phoneRequest = z.object({
  id: plain,
  kind: phoneRequestKind,
  /** Who asked for it. */
  by: plain,
  state: z.enum(['waiting', 'connecting', 'showing', 'confirmed', 'logging-in', 'ended']),
  /** The text of the QR code, or the code to type; null while there is none to show. */
  code: plain.nullable(),
  shown: z.object({ number: z.int(), of: z.int(), validMs: z.int() }).nullable(),
  /** Null while it goes on. */
  end: z.object({ isDone: z.boolean(), code: plain, sentence: plain, nextStep: plain.nullable() }).nullable(),
  /** False: no worker runs that could take it up. */
  hasWorker: z.boolean(),
})
export type PhoneRequestView = z.output<typeof phoneRequest>

const ofRequest = inAccount.extend({ request: z.string().max(64) })

export const phoneRoutes = {
  /** Begins to link or unlink the phone, or logs in again. A request replaces an earlier one of the same person. */
  requestPhone: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/phone',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ kind: phoneRequestKind }),
    reply: phoneRequest,
  }),
  /**
   * Keeps it going for another minute. With the code, any phone can be linked to this installation, so it needs a step-up too, but
   * an older one is enough: see `PROOF_LASTS_MS` of its handler.
   */
  watchPhone: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/phone/:request/watch',
    access: 'developer',
    params: ofRequest,
    reply: phoneRequest,
  }),
  /** Harmless when it has ended, or the phone has confirmed it already. */
  cancelPhone: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/phone/:request/cancel',
    access: 'developer',
    params: ofRequest,
    reply: done,
  }),
} as const
