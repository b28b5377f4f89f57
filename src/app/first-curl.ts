import type { FirstStart } from './first-start.ts'

/** A command ready to paste that gets 200. */
export function firstCurl({ token, number }: FirstStart, url: string): string {
  return `curl ${url}/chat/api/v1/public/message/send \\
  -H 'x-api-key: ${token}' -H 'content-type: application/json' \\
  -d '{"from":"${number}","to":"15551234567","message":{"type":"message","message":"Hello from Nuncio"}}'`
}
