import type { Json } from './check-send.ts'
import { invalid } from './graph-error.ts'
import type { SimulatedNumber, SimulatedTemplate } from './simulator-types.ts'

export interface StoredTemplate extends SimulatedTemplate {
  readonly id: string
  readonly businessAccountId: string
}

const USUAL_PAGE = 25
const HIGH_THROUGHPUT = 1_000
const USUAL_THROUGHPUT = 80

/** Answers GET of a phone number. Without `fields` it has those that Meta returns by default. */
export function describeNumber(number: SimulatedNumber, query: URLSearchParams): Json {
  const throughput = number.throughputPerSecond ?? USUAL_THROUGHPUT
  const all: Json = {
    verified_name: number.verifiedName ?? 'Nuncio Test',
    code_verification_status: 'VERIFIED',
    display_phone_number: forPeople(number.number),
    quality_rating: number.quality ?? 'GREEN',
    platform_type: 'CLOUD_API',
    throughput: { level: throughput >= HIGH_THROUGHPUT ? 'HIGH' : 'STANDARD' },
    webhook_configuration: {},
    last_onboarded_time: '2026-01-02T03:04:05+0000',
    id: number.phoneNumberId,
    status: number.status ?? 'CONNECTED',
    name_status: 'APPROVED',
    new_name_status: 'NONE',
    account_mode: 'LIVE',
    is_official_business_account: false,
    is_pin_enabled: true,
    is_on_biz_app: false,
    messaging_limit_tier: 'TIER_250',
    whatsapp_business_manager_messaging_limit: 'TIER_250',
    certificate: 'simulated',
    health_status: {
      can_send_message: 'AVAILABLE',
      entities: [{ entity_type: 'PHONE_NUMBER', id: number.phoneNumberId, can_send_message: 'AVAILABLE' }],
    },
  }
  return choose(all, query, NUMBER_DEFAULT)
}

// Formats a number as Meta shows it to people. This form cannot be compared with others.
function forPeople(number: string): string {
  return `+${number.replace(/^(1|\d\d)(\d{3})(\d{3})/, '$1 $2-$3-')}`
}

const NUMBER_DEFAULT = [
  'verified_name',
  'code_verification_status',
  'display_phone_number',
  'quality_rating',
  'platform_type',
  'throughput',
  'webhook_configuration',
  'last_onboarded_time',
]

/** Answers GET of a business account. */
export function describeAccount({ businessAccountId }: SimulatedNumber, query: URLSearchParams): Json {
  const all: Json = {
    id: businessAccountId,
    name: 'Nuncio Test',
    timezone_id: '1',
    currency: 'EUR',
    message_template_namespace: 'simulated_namespace',
    account_review_status: 'APPROVED',
    status: 'ACTIVE',
  }
  return choose(all, query, ['name', 'timezone_id', 'message_template_namespace'])
}

/** Selects the requested fields. A name may itself list fields, as `throughput{level}`; then the whole field is returned. */
function choose(all: Json, query: URLSearchParams, usual: readonly string[]): Json {
  const asked = query
    .get('fields')
    ?.replace(/\{[^}]*\}/g, '')
    .split(',')
    .map((name) => name.trim())
  const names = asked?.filter((name) => name !== '') ?? usual
  const unknown = names.find((name) => !(name in all))
  if (unknown !== undefined) throw invalid(`Tried accessing nonexisting field (${unknown})`)
  return Object.fromEntries([...new Set([...names, 'id'])].map((name) => [name, all[name]]))
}

/** Answers GET of message_templates: one page of the list. */
export function templatePage(templates: readonly StoredTemplate[], query: URLSearchParams, base: string): Json {
  const limit = Number(query.get('limit') ?? USUAL_PAGE)
  if (!Number.isInteger(limit) || limit < 1) throw invalid('Param limit must be a positive integer.')
  const wanted = templates.filter(
    ({ name, status = 'APPROVED', language }) =>
      (query.get('name') ?? name) === name &&
      (query.get('status') ?? status).toUpperCase() === status &&
      (query.get('language') ?? language) === language,
  )
  const from = fromCursor(query.get('after'))
  const page = wanted.slice(from, from + limit)
  const data = page.map((template) => choose(describeTemplate(template), query, TEMPLATE_DEFAULT))
  if (page.length === 0) return { data }
  const cursors = { before: toCursor(from), after: toCursor(from + page.length) }
  const isLast = from + page.length >= wanted.length
  const next = new URLSearchParams(query)
  next.set('after', cursors.after)
  return { data, paging: { cursors, ...(isLast ? {} : { next: `${base}?${next}` }) } }
}

const toCursor = (place: number) => Buffer.from(`place:${place}`).toString('base64url')

function fromCursor(cursor: string | null): number {
  if (cursor === null) return 0
  const place = /^place:(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (place === undefined) throw invalid('Invalid cursor.')
  return Number(place)
}

const TEMPLATE_DEFAULT = ['name', 'parameter_format', 'components', 'language', 'status', 'category', 'id']

function describeTemplate(template: StoredTemplate): Json {
  const { name, language, status = 'APPROVED', category = 'UTILITY', id } = template
  const parameter_format = template.hasNamedParameters ? 'NAMED' : 'POSITIONAL'
  const components = [...headerOf(template), bodyOf(template), ...footerOf(template)]
  return {
    ...{ name, parameter_format, components, language, status, category, id },
    quality_score: { score: 'UNKNOWN' },
    rejected_reason: status === 'REJECTED' ? 'INVALID_FORMAT' : 'NONE',
  }
}

function headerOf({ header, headerText }: StoredTemplate): Json[] {
  if (header === undefined) return []
  if (header === 'TEXT') return [{ type: 'HEADER', format: 'TEXT', text: headerText ?? '' }]
  if (header === 'LOCATION') return [{ type: 'HEADER', format: 'LOCATION' }]
  return [{ type: 'HEADER', format: header, example: { header_handle: ['https://scontent.whatsapp.net/v/simulated'] } }]
}

function bodyOf({ body, hasNamedParameters }: StoredTemplate): Json {
  const names = [...new Set([...body.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? ''))]
  if (names.length === 0) return { type: 'BODY', text: body }
  const example = hasNamedParameters
    ? { body_text_named_params: names.map((param_name) => ({ param_name, example: 'example' })) }
    : { body_text: [names.map(() => 'example')] }
  return { type: 'BODY', text: body, example }
}

function footerOf({ footer }: StoredTemplate): Json[] {
  return footer === undefined ? [] : [{ type: 'FOOTER', text: footer }]
}
