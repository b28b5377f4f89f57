import type { ApiCaller } from './api-caller.ts'
import type { ApiDocument } from './api-document.ts'
import { type Replied, ReplyChecker } from './reply-checker.ts'

/** How many good requests are made from a document. */
export const GOOD = 40

/** Reads the document of the running service. All requests and checks are derived from it alone. */
export async function readDocument(url: string): Promise<ApiDocument> {
  const response = await fetch(`${url}/openapi.json`)
  return (await response.json()) as ApiDocument
}

interface Answered {
  readonly what: string
  readonly reply: Replied
}

export async function callAll(
  caller: ApiCaller,
  made: readonly { what: string; body: unknown }[],
): Promise<Answered[]> {
  const answered: Answered[] = []
  for (const { what, body } of made) answered.push({ what, reply: await caller.call({ body }) })
  return answered
}

/** Replies with another status than expected, and replies that do not match the document. */
export function findingsIn(document: ApiDocument, status: number, answered: readonly Answered[]): string[] {
  const checker = new ReplyChecker(document)
  return answered.flatMap(({ what, reply }) => [
    ...(reply.status === status ? [] : [`${what || 'a good request'}: ${reply.status} ${reply.text}`]),
    ...checker.check(reply),
  ])
}
