/** What a call broke with, in words without an address or anything of the request in them. */
export function explainBrokenCall(error: unknown): string {
  const code = codeOf(error)
  return code === null ? 'the connection to Meta failed' : (DETAILS[code] ?? `the connection to Meta failed (${code})`)
}

const DETAILS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Meta refused the connection',
  ECONNRESET: 'Meta broke the connection',
  EPIPE: 'Meta broke the connection',
  UND_ERR_SOCKET: 'Meta closed the connection before its answer was complete',
  UND_ERR_CONNECT_TIMEOUT: 'Meta took no connection in time',
  ETIMEDOUT: 'Meta took no connection in time',
  ENOTFOUND: 'the name of Meta’s server could not be resolved',
  EAI_AGAIN: 'the name of Meta’s server could not be resolved at the moment',
  EHOSTUNREACH: 'there is no way to Meta’s server',
  ENETUNREACH: 'there is no way to Meta’s server',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'Meta’s answer was too long',
  UND_ERR_HEADERS_OVERFLOW: 'Meta’s answer was too long',
  UND_ERR_DESTROYED: 'the service is stopping',
  UND_ERR_CLOSED: 'the service is stopping',
  CERT_HAS_EXPIRED: 'the certificate of Meta’s server has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of Meta’s server is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of Meta’s server comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain of Meta’s server is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of Meta’s server comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of Meta’s server is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS',
}

/** The code of the error itself, or of the first of several tries to connect. */
function codeOf(error: unknown): string | null {
  for (const each of [error, ...innerOf(error)]) {
    const code = typeof each === 'object' && each !== null && 'code' in each ? each.code : null
    if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return code
  }
  return null
}

function innerOf(error: unknown): readonly unknown[] {
  if (error instanceof AggregateError) return error.errors
  return error instanceof Error && error.cause !== undefined ? [error.cause] : []
}
