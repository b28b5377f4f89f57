import { randomBytes } from 'node:crypto'

interface Published {
  readonly status: number
  readonly title: string
}

const of = (status: number, title: string): Published => ({ status, title })

/**
 * Titles from the page "Error codes" of the Cloud API. For most codes it publishes no HTTP status. Those here are the ones on
 * which other tables agree, and nothing may depend on them.
 */
const PUBLISHED_ERRORS: Readonly<Record<number, Published>> = {
  0: of(401, 'AuthException'),
  1: of(500, 'API Unknown'),
  2: of(503, 'API Service'),
  3: of(500, 'API Method'),
  4: of(429, 'API Too Many Calls'),
  10: of(403, 'Permission Denied'),
  33: of(400, 'Parameter value is not valid'),
  100: of(400, 'Invalid parameter'),
  190: of(401, 'Access token has expired'),
  200: of(403, 'API Permission'),
  368: of(403, 'Temporarily blocked for policies violations'),
  80007: of(429, 'Rate limit issues'),
  130403: of(403, 'Recipient has been blocked by the business'),
  130429: of(429, 'Rate limit hit'),
  130472: of(400, "User's number is part of an experiment"),
  130497: of(403, 'Business account is restricted from messaging users in this country.'),
  131000: of(500, 'Something went wrong'),
  131005: of(403, 'Access denied'),
  131008: of(400, 'Required parameter is missing'),
  131009: of(400, 'Parameter value is not valid'),
  131016: of(503, 'Service unavailable'),
  131021: of(400, 'Recipient cannot be sender'),
  131026: of(400, 'Message undeliverable'),
  131030: of(400, 'Recipient phone number not in allowed list'),
  131031: of(403, 'Account has been locked'),
  131037: of(400, 'WhatsApp provided number needs display name approval before message can be sent.'),
  131042: of(400, 'Business eligibility payment issue'),
  131045: of(500, 'Incorrect certificate'),
  131047: of(400, 'Re-engagement message'),
  131048: of(429, 'Spam Rate limit hit'),
  131049: of(400, 'This message was not delivered to maintain healthy ecosystem engagement.'),
  131050: of(400, 'User has stopped marketing messages'),
  131051: of(400, 'Unsupported message type'),
  131053: of(400, 'Media upload error'),
  131056: of(429, '(Business Account, Consumer Account) pair rate limit hit'),
  131057: of(500, 'Account in maintenance mode'),
  131064: of(403, 'Business account is restricted'),
  132000: of(400, 'Number of parameters does not match the expected number of params'),
  132001: of(404, 'Template name does not exist in the translation'),
  132005: of(400, 'Translated text too long'),
  132007: of(400, 'Template format character policy violated'),
  132012: of(400, 'Parameter format does not match format in the created template'),
  132015: of(400, 'Template is paused'),
  132016: of(400, 'Template is disabled'),
  132018: of(400, "There's an issue with the parameters in your template"),
  132068: of(400, 'Flow is in blocked state'),
  132069: of(429, 'Flow is in throttled state'),
  133004: of(503, 'Server Temporarily Unavailable'),
  133006: of(400, 'Phone number needs to be verified before registering'),
  133010: of(400, 'Phone number not registered'),
  134011: of(403, 'WhatsApp Payments terms of service has not been accepted'),
  134101: of(503, 'Template is syncing'),
  135000: of(400, 'Generic user error'),
}

interface Said {
  readonly message?: string
  readonly details?: string
  readonly status?: number
  readonly subcode?: number
  readonly type?: 'OAuthException' | 'GraphMethodException'
}

/** An error answer of the Graph API. */
export class GraphError extends Error {
  readonly code: number
  readonly status: number
  readonly #said: Said

  constructor(code: number, said: Said = {}) {
    const title = PUBLISHED_ERRORS[code]?.title ?? 'Unknown error'
    super(said.message ?? `(#${code}) ${title}`)
    this.code = code
    this.status = said.status ?? PUBLISHED_ERRORS[code]?.status ?? 400
    this.#said = said
  }

  get body(): Readonly<Record<string, unknown>> {
    const { details, subcode, type = 'OAuthException' } = this.#said
    return {
      error: {
        message: this.message,
        type,
        code: this.code,
        ...(details === undefined ? {} : { error_data: { messaging_product: 'whatsapp', details } }),
        ...(subcode === undefined ? {} : { error_subcode: subcode }),
        fbtrace_id: drawTraceId(),
      },
    }
  }
}

export function drawTraceId(): string {
  return `A${randomBytes(17).toString('base64url')}`
}

export const required = (name: string) => new GraphError(100, { message: `(#100) The parameter ${name} is required.` })

export const wrong = (details: string) => new GraphError(131009, { details })

export const invalid = (message: string) => new GraphError(100, { message: `(#100) ${message}` })

/** The error for a missing object, or one that this token may not see. */
export function noSuchObject(id: string, method: string): GraphError {
  return new GraphError(100, {
    message:
      `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing ` +
      'permissions, or does not support this operation. Please read the Graph API documentation at ' +
      'https://developers.facebook.com/docs/graph-api',
    subcode: 33,
    type: 'GraphMethodException',
  })
}

/** The error as an entry of `errors` in a failed status. */
export function asStatusError(code: number, details: string | undefined): Readonly<Record<string, unknown>> {
  const title = PUBLISHED_ERRORS[code]?.title ?? 'Unknown error'
  return {
    code,
    title,
    message: title,
    ...(details === undefined ? {} : { error_data: { details } }),
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  }
}
