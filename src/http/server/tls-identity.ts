/** The server's certificate and key, both in PEM form. */
export interface TlsIdentity {
  /** The certificate, followed by its intermediates. */
  readonly cert: string
  readonly key: string
}

/** Older versions of TLS are insecure. */
export const LEAST_TLS = 'TLSv1.2'
