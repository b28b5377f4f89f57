import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { answering, TestHost } from '../../../test/support/media-world/test-host.ts'
import type { SimulatedTemplate, Simulator } from '../../../test/support/whatsapp-cloud/simulator-types.ts'
import { NUMBER, openSimulator } from '../../../test/support/whatsapp-cloud/simulator-world.ts'
import type { Refusal } from '../../core/refusals.ts'
import { systemClock } from '../../server/system-clock.ts'
import { createOnboarding } from './onboarding.ts'
import { parseWhatsAppCloudSettings, type StoredSettings } from './settings.ts'

const LANGUAGE = 'en_US'

describe('a connection that is proven', () => {
  it('shows what Meta says of its number', async () => {
    const { simulator } = await openSimulator()
    simulator.changeNumber(NUMBER.phoneNumberId, { quality: 'YELLOW', throughputPerSecond: 1_000 })

    const { networkKey, facts, settings } = await prove(simulator.url)

    assert.equal(networkKey, NUMBER.phoneNumberId)
    assert.deepEqual(
      facts.map(({ label, value, tone }) => [label, label === 'Number' ? value.replaceAll(/[ -]/g, '') : value, tone]),
      [
        ['Name', 'Nuncio Test', 'plain'],
        ['Number', '+15550001000', 'plain'],
        ['Quality', 'Medium', 'warning'],
        ['Throughput', '1000 messages a second', 'plain'],
      ],
    )
    assert.equal(settings['throughputPerSecond'], 1_000)
  })

  it('has its templates listed only where some are named, and its business account proven in any case', async () => {
    const { simulator } = await openWithTemplates()
    for (let count = 0; count < 250; count += 1) addTemplate(simulator, { name: `many_${count}`, body: 'x {{1}}' })
    const listed = () => simulator.requests.filter(({ path }) => path.includes('/message_templates'))

    await prove(simulator.url)
    const [once] = [listed()]
    await prove(simulator.url, { template_text: 'notice:en_US' })

    assert.deepEqual([once.length, /limit=1(&|$)/.test(once[0]?.path ?? '')], [1, true])
    assert.equal(listed().length, 1 + 3)
  })

  it('keeps what was found out about its templates', async () => {
    const { simulator } = await openWithTemplates()

    const { facts, settings } = await prove(simulator.url, {
      template_text: 'notice:en_US',
      template_image: 'photo:en_US',
      template_document: 'paper:en_US',
    })

    assert.equal(facts.at(-1)?.label, 'Templates')
    assert.deepEqual(settings['templates'], {
      text: { name: 'notice', language: LANGUAGE, bodyVariables: 1 },
      image: { name: 'photo', language: LANGUAGE, bodyVariables: 0 },
      document: { name: 'paper', language: LANGUAGE, bodyVariables: 1 },
    })
  })
})

describe('a connection that is not proven', () => {
  it.each<[string, Readonly<Record<string, string>>, string | null, RegExp]>([
    ['a wrong token', { access_token: 'EAAG-quite-another-token' }, 'access_token', /rejects the access_token/],
    ['an unknown number', { phone_number_id: '999' }, 'phone_number_id', /no number with this phone_number_id/],
    [
      'an unknown business account',
      { business_account_id: '999' },
      'business_account_id',
      /no WhatsApp business account with this business_account_id/,
    ],
    ['a template that is not there', { template_text: 'gone:en_US' }, 'template_text', /has no template gone/],
    [
      'a template of another language',
      { template_text: 'notice:de' },
      'template_text',
      /not there in de, only in en_US/,
    ],
    ['a template that waits', { template_text: 'waiting:en_US' }, 'template_text', /PENDING and not as APPROVED/],
    ['a template with two variables', { template_text: 'pair:en_US' }, 'template_text', /2 variables/],
    ['a template without one', { template_text: 'fixed:en_US' }, 'template_text', /no variable that could hold a text/],
    ['a template with names', { template_text: 'named:en_US' }, 'template_text', /must be \{\{1\}\}/],
    ['a template for another kind', { template_text: 'photo:en_US' }, 'template_text', /fits template_image/],
    ['a template for a place', { template_image: 'place:en_US' }, 'template_image', /header is none/],
  ])('says in one sentence what to fix: %s', async (...[, pairs, field, sentence]) => {
    const { simulator } = await openWithTemplates()

    const refusal = await refusalOf(prove(simulator.url, pairs))

    assert.deepEqual([refusal.code, refusal.field], ['connection_not_proven', field])
    assert.match(refusal.message, sentence)
    assertOneSentence(refusal.message)
  })

  it('is of another number, and both are shown', async () => {
    const { simulator } = await openSimulator()

    const refusal = await refusalOf(prove(simulator.url, {}, '4915112345678'))

    assert.deepEqual([refusal.code, refusal.field], ['connection_not_proven', 'phone_number_id'])
    assert.match(refusal.message.replaceAll(/[ -]/g, ''), /\+15550001000.*\+4915112345678/)
  })

  it.each([
    [10, 'access_token', /whatsapp_business_messaging/],
    [200, 'access_token', /lacks a permission/],
    [131005, 'access_token', /lacks a permission/],
    [33, 'phone_number_id', /no number/],
    [2635, 'graph_version', /graph_version/],
    [133010, null, /not registered/],
    [368, null, /blocked/],
  ])('by code %i names what to fix', async (code, field, sentence) => {
    const { simulator } = await openSimulator()
    simulator.fail({ on: 'other', code, times: 1 })

    const refusal = await refusalOf(prove(simulator.url))

    assert.deepEqual([refusal.code, refusal.field], ['connection_not_proven', field])
    assert.match(refusal.message, sentence)
  })

  it('has an app secret of another app', async () => {
    const url = await hostThat((path) =>
      path.includes('appsecret_proof=')
        ? [400, { error: { message: 'Invalid appsecret_proof provided in the API argument', code: 100 } }]
        : [200, { id: NUMBER.phoneNumberId, display_phone_number: '+1 555-000-1000', data: [] }],
    )

    const refusal = await refusalOf(prove(url))

    assert.deepEqual([refusal.code, refusal.field], ['connection_not_proven', 'app_secret'])
    // Negative control: a host that takes any proof.
    await prove(
      await hostThat(() => [200, { id: NUMBER.phoneNumberId, display_phone_number: '+1 555-000-1000', data: [] }]),
    )
  })

  it('is shown in its other spelling', async () => {
    const url = await hostThat(() => [
      200,
      { id: NUMBER.phoneNumberId, display_phone_number: '+52 55 1234 5678', data: [] },
    ])

    const { networkKey } = await prove(url, {}, '5215512345678')

    assert.equal(networkKey, NUMBER.phoneNumberId)
  })

  it.each([
    ['another id', { id: '1001' }, /by the id 1001: give that one/],
    ['none', {}, /names no id/],
  ])('is known by another id than was typed: %s', async (_, report, sentence) => {
    const url = await hostThat(() => [200, { ...report, display_phone_number: '+1 555-000-1000', data: [] }])

    const refusal = await refusalOf(prove(url))

    assert.deepEqual([refusal.code, refusal.field], ['connection_not_proven', 'phone_number_id'])
    assert.match(refusal.message, sentence)
    assertOneSentence(refusal.message)
  })
})

describe('an app secret that may be new for a connection', () => {
  it('is taken by the network or not, and is not while it cannot be asked', async () => {
    const { simulator } = await openSimulator()
    const renewed = 'fedcba9876543210fedcba9876543210'
    const takes = (baseUrl: string, secret: string, pairs = {}) =>
      createOnboarding({ baseUrl, clock: systemClock }).takesCallbackSecret(settingsOf(pairs), secret)

    assert.deepEqual([await takes(simulator.url, NUMBER.appSecret), await takes(simulator.url, renewed)], [true, false])
    simulator.changeNumber(NUMBER.phoneNumberId, { appSecret: renewed })
    assert.deepEqual([await takes(simulator.url, NUMBER.appSecret), await takes(simulator.url, renewed)], [false, true])
    assert.equal(await takes(simulator.url, renewed, { access_token: 'EAAG-quite-another-token' }), false)
    assert.equal(await takes('http://127.0.0.1:1', renewed), false)
    assert.equal(await takes(await hostThat(() => [503, { error: { code: 2, message: 'Service' } }]), renewed), false)
  })
})

describe('a network that does not answer', () => {
  it.each([
    ['nothing listens there', async () => 'http://127.0.0.1:1'],
    ['a page of a proxy', async () => openHost(answering(502, {}, '<html>'))],
    ['a redirect', async () => openHost(answering(302, { location: 'http://127.0.0.1:1/' }, ''))],
    ['a failure of its own', async () => hostThat(() => [503, { error: { code: 2, message: 'Service' } }])],
  ])('changes nothing: %s', async (_, open) => {
    const refusal = await refusalOf(prove(await open()))

    assert.deepEqual([refusal.code, refusal.field], ['network_unreachable', null])
  })
})

describe('the list of templates', () => {
  it('is read to its end, page by page, with what each is good for', async () => {
    const { simulator } = await openWithTemplates()
    for (let count = 0; count < 250; count += 1) addTemplate(simulator, { name: `many_${count}`, body: 'x {{1}}' })

    const views = await createOnboarding({ baseUrl: simulator.url, clock: systemClock }).listTemplates(settingsOf())

    const fits = Object.fromEntries(views.map(({ name, fits: setting }) => [name, setting]))
    assert.equal(views.length, TEMPLATES.length + 250)
    assert.deepEqual(
      [fits['notice'], fits['photo'], fits['paper'], fits['clip'], fits['waiting'], fits['place'], fits['secret_code']],
      ['template_text', 'template_image', 'template_document', 'template_video', null, null, null],
    )
  })

  it('never follows an address that stands in an answer', async () => {
    const elsewhere = await TestHost.open({ script: answering(200, {}, '{"data":[]}') })
    onTestFinished(() => elsewhere.close())
    let pages = 0
    const url = await hostThat(() => {
      pages += 1
      return [200, { data: [], paging: pages < 3 ? { cursors: { after: 'x' }, next: elsewhere.url('/') } : {} }]
    })

    await createOnboarding({ baseUrl: url, clock: systemClock }).listTemplates(settingsOf())

    assert.deepEqual([pages, elsewhere.connects], [3, 0])
  })
})

const TEMPLATES: readonly Omit<SimulatedTemplate, 'language'>[] = [
  { name: 'notice', body: 'News: {{1}}' },
  { name: 'photo', body: 'A photo', header: 'IMAGE' },
  { name: 'paper', body: 'A paper: {{1}}', header: 'DOCUMENT' },
  { name: 'clip', body: 'A clip', header: 'VIDEO' },
  { name: 'place', body: 'A place', header: 'LOCATION' },
  { name: 'waiting', body: 'News: {{1}}', status: 'PENDING' },
  { name: 'pair', body: '{{1}} and {{2}}' },
  { name: 'fixed', body: 'Nothing to fill' },
  { name: 'named', body: 'News: {{text}}', hasNamedParameters: true },
  { name: 'secret_code', body: 'Your code is {{1}}', category: 'AUTHENTICATION' },
]

async function openWithTemplates() {
  const world = await openSimulator()
  for (const template of TEMPLATES) addTemplate(world.simulator, template)
  return world
}

function addTemplate(simulator: Simulator, template: Omit<SimulatedTemplate, 'language'>): void {
  simulator.addTemplate(NUMBER.businessAccountId, { ...template, language: LANGUAGE })
}

function settingsOf(pairs: Readonly<Record<string, string>> = {}): StoredSettings {
  return parseWhatsAppCloudSettings({
    phone_number_id: NUMBER.phoneNumberId,
    business_account_id: NUMBER.businessAccountId,
    access_token: NUMBER.accessToken,
    app_secret: NUMBER.appSecret,
    verify_token: NUMBER.verifyToken,
    ...pairs,
  })
}

function prove(baseUrl: string, pairs: Readonly<Record<string, string>> = {}, number = NUMBER.number) {
  return createOnboarding({ baseUrl, clock: systemClock }).prove({ number, settings: settingsOf(pairs) })
}

async function refusalOf(asked: Promise<unknown>): Promise<Refusal> {
  return asked.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error as Refusal,
  )
}

function assertOneSentence(message: string): void {
  assert.match(message, /^[A-Z].*\.$/)
  assert.equal(message.replace(/\w\.\w/g, '').split('. ').length, 1, message)
}

async function openHost(script: ReturnType<typeof answering>): Promise<string> {
  const host = await TestHost.open({ script })
  onTestFinished(() => host.close())
  return host.url('')
}

function hostThat(answer: (path: string) => readonly [status: number, body: unknown]): Promise<string> {
  return openHost((socket, request) => {
    const [status, body] = answer(request.split(' ')[1] ?? '')
    answering(status, {}, JSON.stringify(body))(socket, request)
  })
}
