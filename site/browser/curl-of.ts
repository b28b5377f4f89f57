export interface TriedCall {
  readonly url: string
  /** Empty: none is sent. */
  readonly key: string
  readonly body: string
}

/** The call as a shell command. The token comes from the environment, so that the command can be shared. */
export function curlOf({ url, key, body }: TriedCall): string {
  const lines = [
    `curl ${quoted(url)}`,
    `-H "x-api-key: $NUNCIO_TOKEN"`,
    `-H 'content-type: application/json'`,
    ...(key === '' ? [] : [`-H ${quoted(`idempotency-key: ${key}`)}`]),
    `-d ${quoted(body)}`,
  ]
  return lines.join(' \\\n  ')
}

/** Quotes any text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
