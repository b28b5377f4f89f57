/** A command ready to paste that gets 200. */
export function firstCurl({ token, number }: { readonly token: string; readonly number: string }, url: string): string {
  return `curl ${url}/chat/api/v1/public/message/send \\
  -H 'x-api-key: ${token}' -H 'content-type: application/json' \\
  -d '{"from":"${number}","to":"15551234567","message":{"type":"message","message":"Hello from Nuncio"}}'`
}
