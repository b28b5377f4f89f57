import { z } from 'zod'
import { instant } from './shapes.ts'
import { maskedNumber, maskedText, notForViewers, plain } from './viewer-text.ts'

/** A message that is being sent. */
const openMessage = z.object({
  id: plain,
  to: maskedNumber,
  type: plain,
  preview: notForViewers(plain),
  attempt: z.int(),
  since: instant,
  acceptedAt: instant,
  /** Until when the channel is asked whether it arrived; null while it is being sent. */
  evidenceUntil: instant.nullable(),
  words: maskedText.nullable(),
})

/** What a message waits for itself. */
const ownWait = z.object({ code: plain, list: plain, sentence: maskedText, until: instant.nullable() })

/** The deferred message to the same recipient that it waits for. */
const earlierMessage = z.object({
  text: plain,
  /** When it is tried again: the end of the text. */
  at: instant.nullable(),
})

const waitingMessage = z.object({
  id: plain,
  to: maskedNumber,
  type: plain,
  /** The first 40 characters of its text, or of the name and caption of its file. */
  preview: notForViewers(plain),
  acceptedAt: instant,
  expiresAt: instant,
  attempts: z.int(),
  /** 1 is the head of the lane. */
  position: z.int(),
  /**
   * When it will be sent, by the pace of the lane; null when unknown, when quiet hours begin before, or when it waits for
   * something of its own.
   */
  estimatedAt: instant.nullable(),
  wait: ownWait.nullable(),
  behind: earlierMessage.nullable(),
})
export type WaitingMessage = z.output<typeof waitingMessage>

export const waitingPlace = z.object({
  id: plain,
  /** It is being sent. */
  isOpen: z.boolean(),
  /** 1 is the head of the lane; null: further back than is counted. */
  position: z.int().nullable(),
  estimatedAt: instant.nullable(),
  /** What the message itself waits for, or what stops its lane; null: only the messages before it. */
  wait: ownWait.nullable(),
  behind: earlierMessage.nullable(),
  /** The code on the message's page. Behind the head of a lane it is the code of the head. Null: the lane moves. */
  code: plain.nullable(),
  /** An attempt before may have arrived. */
  mayHaveLeft: z.boolean(),
})
export type WaitingPlaceView = z.output<typeof waitingPlace>

export const lanePage = z.object({
  open: openMessage.nullable(),
  /** Those that wait for something of their own, each with the later ones to its recipient behind it: the first fifty. */
  deferred: z.object({
    count: z.int(),
    recipients: z.int(),
    /** There may be others further back in the lane. */
    isMore: z.boolean(),
    /** Only with the first page. */
    items: z.array(waitingMessage),
  }),
  /** The others, in sending order. */
  items: z.array(waitingMessage),
  next: plain.nullable(),
})
