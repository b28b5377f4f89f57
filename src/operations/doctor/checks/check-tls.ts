import type { X509Certificate } from 'node:crypto'
import { checkExpiry } from '../../../server/tls/check-expiry.ts'
import { readTlsFiles } from '../../../server/tls/read-tls-files.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const RENEW = 'Renew it, and put both files in place: the running service takes them within seconds.'

/** Refuses, as a start does, with what is wrong with the files. */
export async function checkTls({ settings, now }: Examination): Promise<CheckResult> {
  if (!settings) return skipped('The settings are wrong, so no certificate is checked.')
  const files = readTlsFiles(settings)
  if (!files)
    return skipped(
      'The service speaks plain HTTP by itself. For https put a proxy in front, or set NUNCIO_TLS_CERT_FILE.',
    )
  return assessCertificate(files.certificate, new URL(settings.publicUrl).hostname, now())
}

/** Pure. */
function assessCertificate(
  certificate: Pick<X509Certificate, 'validToDate' | 'subjectAltName' | 'checkHost' | 'checkIP'>,
  host: string,
  now: number,
): CheckResult {
  const { level, expiresAt, sentence } = checkExpiry(certificate, now)
  const facts = { expiresAt, host, names: certificate.subjectAltName ?? '' }
  if (level === 'over') return problem(sentence ?? '', RENEW, facts)
  if (!certificate.checkHost(host) && !certificate.checkIP(host.replace(/^\[|\]$/g, '')))
    return warning(
      `The certificate is not for ${host}, which NUNCIO_PUBLIC_URL names, but for ${facts.names}.`,
      'Set NUNCIO_PUBLIC_URL to a name of the certificate, or get one for that name.',
      facts,
    )
  if (level === 'soon') return warning(sentence ?? '', RENEW, facts)
  return ok(`The certificate is for ${host}, and good until ${expiresAt}.`, facts)
}
