import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Settings } from '../../config/read-settings.ts'
import { decodeText } from '../../core/decode-text.ts'
import { Refusal } from '../../core/refusals.ts'
import type { TlsIdentity } from '../../http/server/tls-identity.ts'

export interface TlsFiles extends TlsIdentity {
  readonly certificate: X509Certificate
}

/** Null where the settings name none. Refuses with `tls_unusable`. */
export function readTlsFiles({
  tlsCertFile,
  tlsKeyFile,
}: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>): TlsFiles | null {
  if (tlsCertFile === null || tlsKeyFile === null) return null
  const [cert, key] = [readText(tlsCertFile), readText(tlsKeyFile)]
  const certificate = readCertificate(cert, tlsCertFile)
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(key)))
      throw unusable(
        `The key in ${tlsKeyFile} does not belong to the certificate in ${tlsCertFile}. Put the pair in place together.`,
      )
    createSecureContext({ cert, key })
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw unusable(
      `The key in ${tlsKeyFile} cannot be used with the certificate in ${tlsCertFile}: it must be a private key in PEM form, without a password.`,
      error,
    )
  }
  return { cert, key, certificate }
}

function readText(path: string): string {
  try {
    const decoded = decodeText(readFileSync(path))
    if ('wrong' in decoded) throw unusable(`${path} ${decoded.wrong}`)
    return decoded.text
  } catch (error) {
    if (error instanceof Refusal) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown cause'
    throw unusable(
      `${path} cannot be read (${code}). It must be there and may be read by the user that runs Nuncio.`,
      error,
    )
  }
}

function readCertificate(text: string, path: string): X509Certificate {
  try {
    return new X509Certificate(text)
  } catch (error) {
    throw unusable(`${path} holds no certificate in PEM form.`, error)
  }
}

function unusable(sentence: string, cause?: unknown): Refusal {
  return new Refusal('tls_unusable', sentence, null, { cause })
}
