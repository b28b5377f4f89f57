import { createHmac } from 'node:crypto'
import { isSameNumber } from '../../core/number-spellings.ts'
import type {
  ChannelOnboarding,
  ConnectionFact,
  ConnectionProof,
  TemplateView,
} from '../../core/ports/channel-onboarding.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { Refusal } from '../../core/refusals.ts'
import { type GraphAnswer, GraphClient } from './graph-client.ts'
import { graphErrorOf, isSuccess, memberOf } from './outcome.ts'
import { refusalOf, refusalWithoutAnswer } from './proof-refusals.ts'
import {
  DEFAULT_THROUGHPUT,
  type NamedTemplate,
  readWhatsAppCloudSettings,
  type StoredSettings,
  TEMPLATE_KINDS,
  type TemplateKind,
  templateSetting,
  type WhatsAppCloudSettings,
} from './settings.ts'
import { findNamed, readTemplateView } from './template-views.ts'

interface OnboardingParts {
  readonly baseUrl: string
  readonly clock: Clock
}

// A person waits for it.
const CALL_MS = 10_000
// A page of templates, each with texts and examples in it.
const MOST_BODY_BYTES = 4 * 1024 * 1024
const TEMPLATES_A_PAGE = 100
/** A business account has at most 6,000 templates (Meta's page “Message templates”); with this many pages all are read. */
const MOST_PAGES = 100

const NUMBER_FIELDS = 'id,display_phone_number,verified_name,quality_rating,throughput'
const TEMPLATE_FIELDS = 'name,language,status,category,parameter_format,components'

/** Messages a second by the level that Meta reports (its page “Throughput”). */
const THROUGHPUT: Readonly<Record<string, number>> = { STANDARD: DEFAULT_THROUGHPUT, HIGH: 1_000, LEGACY: 20 }

/** Asks Meta on behalf of people. Works without the channel: each visit opens connections of its own, and ends them. */
export function createOnboarding({ baseUrl, clock }: OnboardingParts): ChannelOnboarding {
  const visit = async <Answer>(settings: StoredSettings, call: (visitor: Visitor) => Promise<Answer>) => {
    const client = new GraphClient(baseUrl, { connections: 2, mostBodyBytes: MOST_BODY_BYTES })
    try {
      return await call(new Visitor(client, readWhatsAppCloudSettings(settings), clock))
    } finally {
      await client.close()
    }
  }
  return {
    prove: ({ number, settings }) => visit(settings, (visitor) => prove(visitor, number, settings)),
    listTemplates: (settings) => visit(settings, (visitor) => visitor.listTemplates()),
    takesCallbackSecret: (settings, secret) => visit(settings, (visitor) => visitor.takesAppSecret(secret)),
    callbackSecretOf: (settings) => readWhatsAppCloudSettings(settings).appSecret,
  }
}

async function prove(visitor: Visitor, number: string, settings: StoredSettings): Promise<ConnectionProof> {
  const response = await visitor.readNumber()
  const { phoneNumberId, templates } = visitor.settings
  // Two connections must not share one number at Meta. Meta's own form of it is compared, because a typed one may differ.
  const networkKey = textOf(response, 'id')
  if (networkKey !== phoneNumberId) throw otherId(phoneNumberId, networkKey)
  const display = textOf(response, 'display_phone_number')
  if (!isSameNumber(display, number)) {
    throw new Refusal(
      'connection_not_proven',
      `phone_number_id ${phoneNumberId} is the number ${display}, and this connection sends from +${number}: give the id of that number, or add a connection for the other one.`,
      'phone_number_id',
    )
  }
  await visitor.proveAppSecret()
  // Thousands of templates take longer to list than a person waits, so it is done only where some are named.
  const views = TEMPLATE_KINDS.some((kind) => templates[kind]) ? await visitor.listTemplates() : null
  if (!views) await visitor.proveBusinessAccount()
  return {
    networkKey,
    facts: [...factsOf(response), ...(views ? [templatesFact(views)] : [])],
    settings: {
      ...settings,
      ...(settings['templates'] !== undefined && { templates: proveTemplates(templates, views ?? []) }),
      throughputPerSecond: throughputOf(response),
    },
  }
}

function otherId(given: string, answered: string): Refusal {
  return new Refusal(
    'connection_not_proven',
    answered === ''
      ? `Meta names no id for phone_number_id ${given}: give the id of the number as Meta’s dashboard shows it.`
      : `Meta knows the number of phone_number_id ${given} by the id ${answered}: give that one.`,
    'phone_number_id',
  )
}

/** The calls of one visit, each with the settings' token. They refuse; they never answer with an error. */
class Visitor {
  readonly #client: GraphClient
  readonly #clock: Clock
  readonly settings: WhatsAppCloudSettings

  constructor(client: GraphClient, settings: WhatsAppCloudSettings, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.settings = settings
  }

  async readNumber(): Promise<unknown> {
    const { phoneNumberId } = this.settings
    const answer = await this.#get(`/${phoneNumberId}`, { fields: NUMBER_FIELDS })
    return this.#bodyOf(answer, 'phone_number_id')
  }

  /**
   * A wrong app secret would only show when callbacks come, as silence. Meta checks this proof wherever it is given, and
   * answers one that does not fit with 100 (its page “Secure Graph API calls”). By now the same call without it has gone
   * well, so 100 can mean nothing else; any other answer says nothing of the secret.
   */
  async proveAppSecret(): Promise<void> {
    const { accessToken, appSecret } = this.settings
    if (accessToken === null || appSecret === null) return
    const answer = await this.#askWithProof(accessToken, appSecret)
    if (graphErrorOf(answer, () => [])?.code !== 100) return
    throw new Refusal(
      'connection_not_proven',
      'app_secret is not the secret of the app that the access token belongs to: copy it from App settings > Basic of that app.',
      'app_secret',
    )
  }

  /** Whether this is the secret of the app that the access token belongs to. Here nothing was asked before, so only a good answer proves it. */
  async takesAppSecret(secret: string): Promise<boolean> {
    const { accessToken } = this.settings
    if (accessToken === null) return false
    const answer = await this.#askWithProof(accessToken, secret)
    return answer.kind === 'answered' && isSuccess(answer.status) && textOf(answer.body, 'id') !== ''
  }

  #askWithProof(accessToken: string, appSecret: string): Promise<GraphAnswer> {
    const proof = createHmac('sha256', appSecret).update(accessToken).digest('hex')
    return this.#get(`/${this.settings.phoneNumberId}`, { fields: 'id', appsecret_proof: proof })
  }

  /** One template is enough to see whether the business account is there, and open to this token. */
  async proveBusinessAccount(): Promise<void> {
    const { businessAccountId } = this.settings
    const answer = await this.#get(`/${businessAccountId}/message_templates`, { fields: 'name', limit: '1' })
    this.#bodyOf(answer, 'business_account_id')
  }

  async listTemplates(): Promise<readonly TemplateView[]> {
    const views: TemplateView[] = []
    const query = { fields: TEMPLATE_FIELDS, limit: String(TEMPLATES_A_PAGE) }
    let after: string | null = null
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const answer = await this.#get(
        `/${this.settings.businessAccountId}/message_templates`,
        after === null ? query : { ...query, after },
      )
      const body = this.#bodyOf(answer, 'business_account_id')
      const data = memberOf(body, 'data')
      if (Array.isArray(data)) views.push(...data.flatMap((response) => readTemplateView(response) ?? []))
      after = nextPage(body)
      if (after === null) break
    }
    return views
  }

  #get(path: string, query: Readonly<Record<string, string>>): Promise<GraphAnswer> {
    const { accessToken, graphVersion } = this.settings
    const ending = new AbortController()
    const cancel = this.#clock.after(CALL_MS, () => ending.abort())
    return this.#client
      .call(
        { method: 'GET', path: `/${graphVersion}${path}`, query, accessToken: accessToken ?? '' },
        { signal: ending.signal },
      )
      .finally(cancel)
  }

  /** The body of a good answer. `asked`: the setting that names what was requested. */
  #bodyOf(answer: GraphAnswer, asked: 'phone_number_id' | 'business_account_id'): unknown {
    const error = graphErrorOf(answer, () => this.#secrets())
    if (error) throw refusalOf(error, asked)
    if (answer.kind === 'answered' && isSuccess(answer.status) && typeof answer.body === 'object') return answer.body
    throw refusalWithoutAnswer(answer)
  }

  #secrets(): readonly string[] {
    const { accessToken, appSecret, verifyToken } = this.settings
    return [accessToken, appSecret, verifyToken].filter((secret) => secret !== null)
  }
}

/** The cursor of the next page. The address beside it in the answer is never used, because it could lead anywhere. */
function nextPage(body: unknown): string | null {
  const paging = memberOf(body, 'paging')
  const after = memberOf(memberOf(paging, 'cursors'), 'after')
  return typeof memberOf(paging, 'next') === 'string' && typeof after === 'string' && after !== '' ? after : null
}

function proveTemplates(
  named: WhatsAppCloudSettings['templates'],
  views: readonly TemplateView[],
): Partial<Record<TemplateKind, NamedTemplate>> {
  const proven: Partial<Record<TemplateKind, NamedTemplate>> = {}
  for (const kind of TEMPLATE_KINDS) {
    const wanted = named[kind]
    if (!wanted) continue
    const found = findNamed(kind, wanted, views)
    if (typeof found === 'string') throw new Refusal('connection_not_proven', found, templateSetting(kind))
    proven[kind] = found
  }
  return proven
}

function factsOf(response: unknown): readonly ConnectionFact[] {
  const [quality, tone] = QUALITIES[textOf(response, 'quality_rating')] ?? ['Not known yet', 'plain']
  return [
    { label: 'Name', value: textOf(response, 'verified_name') || 'none', tone: 'plain' },
    { label: 'Number', value: textOf(response, 'display_phone_number'), tone: 'plain' },
    { label: 'Quality', value: quality, tone },
    { label: 'Throughput', value: `${throughputOf(response)} messages a second`, tone: 'plain' },
  ]
}

/** Meta's values, with the words of its own WhatsApp Manager. It has no rating of a number that has hardly sent. */
const QUALITIES: Readonly<Record<string, readonly [words: string, tone: ConnectionFact['tone']]>> = {
  GREEN: ['High', 'good'],
  YELLOW: ['Medium', 'warning'],
  RED: ['Low', 'bad'],
}

function templatesFact(views: readonly TemplateView[]): ConnectionFact {
  const usable = views.filter(({ fits }) => fits !== null).length
  return { label: 'Templates', value: `${views.length}, of which ${usable} can carry messages`, tone: 'plain' }
}

function throughputOf(response: unknown): number {
  return THROUGHPUT[textOf(memberOf(response, 'throughput'), 'level')] ?? DEFAULT_THROUGHPUT
}

function textOf(value: unknown, name: string): string {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : ''
}
