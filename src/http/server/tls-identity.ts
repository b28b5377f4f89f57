/** What the server shows of itself over TLS, both in PEM form. */
export interface TlsIdentity {
  /** The certificate, and after it those that vouch for it. */
  readonly cert: string
  readonly key: string
}

/** What older versions allow has been broken. */
export const LEAST_TLS = 'TLSv1.2'
