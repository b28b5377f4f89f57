import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { NO_CALLS } from '../../../../test/support/bridge/no-calls.ts'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import { testSecrets } from '../../../../test/support/secrets.ts'
import { startSimulator } from '../../../../test/support/whatsapp-cloud/simulator.ts'
import type { SimulatedNumber, Simulator } from '../../../../test/support/whatsapp-cloud/simulator-types.ts'
import { createOnboardings } from '../../../channels/registry.ts'
import { createConnectionService } from '../../../connections/connection-service.ts'
import type { ConsoleRouteName } from '../../../contract/console/routes.ts'
import type { ConsoleProblem } from '../../../contract/console/shapes.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { ConnectionFact } from '../../../core/ports/channel-onboarding.ts'
import type { ConnectionService } from '../../../core/ports/connection-service.ts'
import { systemClock } from '../../../server/system-clock.ts'

const STEP_UP_LASTS_MS = 5 * 60_000
const SECRET = {
  access_token: 'EAAG0000000000tokenOfTheSystemUser',
  app_secret: '0123456789abcdef0123456789abcdef',
  verify_token: 'a-word-of-ours',
}
const SETTINGS = { phone_number_id: '1001', business_account_id: '2001', ...SECRET }
const NUMBER: SimulatedNumber = {
  phoneNumberId: '1001',
  businessAccountId: '2001',
  number: '15550001001',
  accessToken: SECRET.access_token,
  appSecret: SECRET.app_secret,
  verifyToken: SECRET.verify_token,
}

let world: ConsoleWorld
let simulator: Simulator
let account: AccountId
let anna: Visitor
/** Runs after the network was asked about a change and before that is stored. */
let whenPrepared: () => Promise<void>
/** All replies of the console. */
let answers: string

const adding = (change: object = {}, settings: Readonly<Record<string, string>> = {}) => ({
  number: NUMBER.number,
  channel: 'whatsapp-cloud',
  ...change,
  settings: { ...SETTINGS, ...settings },
})

/** Two numbers of one Meta app. */
async function addTwo(): Promise<readonly [Shown, Shown]> {
  simulator.addNumber({ ...NUMBER, phoneNumberId: '1002', number: '15550001002' })
  const first = await ask<Shown>('addConnection', null, adding())
  const second = adding({ number: '15550001002' }, { phone_number_id: '1002' })
  return [first, await ask<Shown>('addConnection', null, second)]
}

async function ask<Reply>(name: ConsoleRouteName, id: string | null, body: unknown = {}): Promise<Reply> {
  const params = { account, ...(id && { id }) }
  const answer = await world.ask(name, { params, body, as: anna })
  answers += answer.text
  if (answer.status !== 200) {
    const { error } = answer.body as ConsoleProblem
    const refused: Refused = {
      refusal: `${answer.status} ${error.code}`,
      fields: error.fields.map(({ field }) => field),
    }
    throw Object.assign(new Error(error.message), refused)
  }
  return answer.body as Reply
}

/** The facts that the network reported by itself, and the times since which they were read. */
let reported: ConnectionFact[]
let readSince: (number | null)[]
let readWith: (number | null)[]

interface Refused {
  readonly refusal: string
  readonly fields: readonly string[]
}

interface Shown {
  readonly id: string
  readonly facts: readonly { label: string; value: string; tone: string }[]
  readonly checkedAt: number | null
  readonly callback: {
    url: string
    isReachable: boolean
    problem: string | null
    lastReportAt: number | null
  } | null
  readonly channelSettings: readonly { name: string; value: string | null; isSet: boolean }[]
  readonly alsoChanged?: readonly string[]
  readonly notChanged?: readonly string[]
}

describe.each(ENGINES)('connections with a network in the console, on %s', (engine) => {
  beforeEach(async () => {
    answers = ''
    world = new ConsoleWorld()
    simulator = await startSimulator()
    simulator.addNumber(NUMBER)
    simulator.addTemplate('2001', { name: 'notice', language: 'en_US', body: 'News: {{1}} Goodbye.' })
    const connectionService = createConnectionService({
      onboardings: createOnboardings({
        settings: { whatsappCloudUrl: simulator.url },
        clock: systemClock,
        guarded: NO_CALLS,
        extraFolder: () => '',
      }),
      openSecrets: async () => testSecrets(),
      publicUrl: 'http://nuncio.example',
      readReported: async ({ lastReportAt }, after) => {
        readSince.push(after)
        readWith.push(lastReportAt)
        return reported
      },
    })
    reported = []
    readSince = []
    readWith = []
    whenPrepared = async () => {}
    const slow: ConnectionService = {
      ...connectionService,
      async prepareChange(...wanted) {
        const prepared = await connectionService.prepareChange(...wanted)
        await whenPrepared()
        return prepared
      },
    }
    const close = await world.openConsole(engine, { console: { connectionService: slow } })
    account = await world.account()
    anna = await world.visitor(account, 'developer')
    return async () => {
      await simulator.close()
      await close()
    }
  })

  it('are added with secrets that are never returned, not even encrypted', async () => {
    const added = await ask<Shown>('addConnection', null, adding())
    await ask('readConnection', added.id)
    await ask('listConnections', null)
    await ask('checkConnection', added.id)
    await ask('listConnectionTemplates', added.id)
    await ask('changeChannelSettings', added.id, { settings: { link_preview: 'off' } })
    const owner = await world.visitor(account, 'owner')
    answers += (await world.ask('listAudit', { params: { account }, as: owner })).text

    assert.deepEqual(
      added.channelSettings.filter(({ name }) => name in SECRET).map(({ value, isSet }) => [value, isSet]),
      [
        [null, true],
        [null, true],
        [null, true],
      ],
    )
    for (const secret of Object.values(SECRET)) assert.ok(!answers.includes(secret), secret)
    assert.doesNotMatch(answers, /v1\.k/)
    const rows = JSON.stringify([await world.all('select * from connection'), await world.audited('%')])
    for (const secret of Object.values(SECRET)) assert.ok(!rows.includes(secret), secret)
    assert.match(rows, /v1\.k/)
  })

  it('show the network’s facts after a check, and the callback address', async () => {
    const { channels } = await ask<{ channels: { name: string; hasCallbacks: boolean; hasTemplates: boolean }[] }>(
      'listChannels',
      null,
    )
    const added = await ask<Shown>('addConnection', null, adding())
    const read = await ask<Shown>('readConnection', added.id)
    const checked = await ask<Shown>('checkConnection', added.id)
    const { templates } = await ask<{ templates: { name: string; fits: string | null }[] }>(
      'listConnectionTemplates',
      added.id,
    )

    const abilities = new Map(
      channels.map(({ name, hasCallbacks, hasTemplates }) => [name, [hasCallbacks, hasTemplates]]),
    )
    assert.deepEqual(abilities.get('sandbox'), [false, false])
    assert.deepEqual(abilities.get('whatsapp-cloud'), [true, true])
    assert.deepEqual(added.facts[0], { label: 'Name', value: 'Nuncio Test', tone: 'plain', isOwn: false })
    assert.deepEqual([read.facts, checked.facts], [added.facts, added.facts])
    assert.match(added.callback?.url ?? '', /^http:\/\/nuncio\.example\/channels\/whatsapp-cloud\/\w{22}$/)
    assert.deepEqual([added.callback?.isReachable, /https only/.test(added.callback?.problem ?? '')], [false, true])
    assert.deepEqual(
      templates.map(({ name, fits }) => [name, fits]),
      [['notice', 'template_text']],
    )
  })

  it('keep what the network said at the last check, and show what it has reported since', async () => {
    const { id } = await ask<Shown>('addConnection', null, adding())
    const [quality] = (await ask<Shown>('readConnection', id)).facts.filter(({ label }) => label === 'Quality')
    reported = [{ label: 'Quality', value: 'Flagged', tone: 'warning' }]
    world.now += 60_000

    const since = await ask<Shown>('readConnection', id)
    const asked = [...readSince]
    reported = []
    const checked = await ask<Shown>('checkConnection', id)

    assert.deepEqual(asked.at(-1), world.now - 60_000)
    assert.deepEqual(
      since.facts.filter(({ label }) => label === 'Quality'),
      [{ label: 'Quality', value: 'Flagged', tone: 'warning', isOwn: false }],
    )
    assert.equal(since.checkedAt, world.now - 60_000)
    assert.deepEqual(
      checked.facts.filter(({ label }) => label === 'Quality'),
      [quality],
    )
    assert.equal(checked.checkedAt, world.now)
  })

  it('show when their network last called back, and then no warning that it cannot', async () => {
    const { id } = await ask<Shown>('addConnection', null, adding())
    await world.lane(id as ConnectionId, {})
    await world.run('update lane set last_report_at = ? where connection_id = ?', world.now, id)

    const { callback } = await ask<Shown>('readConnection', id)

    assert.deepEqual([callback?.isReachable, callback?.problem, callback?.lastReportAt], [true, null, world.now])
    assert.equal(readWith.at(-1), world.now)
  })

  it('show their address for callbacks to developers and owners, and not to viewers', async () => {
    const { id, callback } = await ask<Shown>('addConnection', null, adding())
    const shownTo = async (role: 'owner' | 'developer' | 'viewer') => {
      const as = await world.visitor(account, role)
      const { body, text } = await world.ask('readConnection', { params: { account, id }, as })
      return [(body as Shown).callback, text.includes('/channels/')]
    }

    assert.ok(callback)
    assert.deepEqual(
      [await shownTo('owner'), await shownTo('developer'), await shownTo('viewer')],
      [
        [callback, true],
        [callback, true],
        [null, false],
      ],
    )
  })

  it('report which field of a form is wrong, and store nothing then', async () => {
    const wrong = (settings: Readonly<Record<string, string>>) =>
      ask('addConnection', null, adding({}, settings)).then(
        () => null,
        (error: unknown) => {
          const { refusal, fields } = error as Refused
          return [refusal, fields]
        },
      )

    assert.deepEqual(
      [
        await wrong({ access_token: '' }),
        await wrong({ phone_number_id: '+1 555' }),
        await wrong({ access_token: 'EAAG0000000000anotherToken' }),
        await wrong({ phone_number_id: '1002' }),
        await wrong({ app_secret: 'ffffffffffffffffffffffffffffffff' }),
        await wrong({ template_image: 'notice:en_US' }),
      ],
      [
        ['400 setting_invalid', ['settings.access_token']],
        ['400 setting_invalid', ['settings.phone_number_id']],
        ['400 connection_not_proven', ['settings.access_token']],
        ['400 connection_not_proven', ['settings.phone_number_id']],
        ['400 connection_not_proven', ['settings.app_secret']],
        ['400 connection_not_proven', ['settings.template_image']],
      ],
    )
    await simulator.close()
    assert.deepEqual(await wrong({}), ['503 network_unreachable', []])
    assert.deepEqual(await world.administration.listConnections(null), [])
  })

  it('require step-up where credentials are given, except for the sandbox', async () => {
    const { id } = await ask<Shown>('addConnection', null, adding())
    world.now += STEP_UP_LASTS_MS + 1
    const refusalOf = (name: ConsoleRouteName, body: unknown, as = anna) =>
      world.refusal(name, { params: { account, id }, body, as })

    assert.equal(await refusalOf('addConnection', adding({ number: '15550001002' })), '403 step_up_required')
    // What is wrong is said before a password is asked for.
    assert.equal(await refusalOf('addConnection', adding({ number: '12' })), '400 number_malformed')
    assert.equal(await refusalOf('changeChannelSettings', { settings: {} }), '403 step_up_required')
    await ask('checkConnection', id)
    await ask('addConnection', null, { number: '15550001003', channel: 'sandbox' })
    const viewer = await world.visitor(account, 'viewer')
    assert.equal(await refusalOf('checkConnection', {}, viewer), '403 role_too_low')
    assert.equal(await refusalOf('listConnectionTemplates', {}, viewer), '403 role_too_low')
  })

  it('G8: of another account are refused without revealing it', async () => {
    await ask('addConnection', null, adding())
    const foreign = await world.account('Others')
    const eve = await world.visitor(foreign)
    const answer = await world.ask('addConnection', { params: { account: foreign }, body: adding(), as: eve })

    assert.deepEqual([answer.status, (answer.body as ConsoleProblem).error.code], [409, 'network_key_taken'])
    assert.doesNotMatch(answer.text, /Acme|con_/)
  })

  it('G8: are never checked at the network for another account', async () => {
    const { id } = await ask<Shown>('addConnection', null, adding())
    const foreign = await world.account('Others')
    const eve = await world.visitor(foreign)
    const asked = simulator.requests.length

    for (const name of ['checkConnection', 'listConnectionTemplates', 'changeChannelSettings'] as const) {
      const body = { settings: { graph_version: 'v25.0' } }
      const refusal = await world.refusal(name, { params: { account: foreign, id }, body, as: eve })
      assert.equal(refusal, '404 connection_unknown', name)
    }
    assert.equal(simulator.requests.length, asked)
    await ask('checkConnection', id)
    assert.ok(simulator.requests.length > asked)
  })

  it('change the app secret of all that share the address, and say so', async () => {
    const [first, second] = await addTwo()
    const appSecret = 'fedcba9876543210fedcba9876543210'
    for (const id of ['1001', '1002']) simulator.changeNumber(id, { appSecret })

    const changed = await ask<Shown>('changeChannelSettings', first.id, { settings: { app_secret: appSecret } })
    const checked = await ask<Shown>('checkConnection', second.id)

    assert.deepEqual([changed.alsoChanged, changed.notChanged, changed.callback], [['15550001002'], [], first.callback])
    assert.equal(checked.facts?.[0]?.value, 'Nuncio Test')
    const audited = await world.audited('connection.change')
    const settings = audited.map(({ detail }) => JSON.parse(detail).channelSettings)
    assert.deepEqual(settings, [['appSecret'], ['appSecret']])
    assert.ok(!JSON.stringify(audited).includes(appSecret))
  })

  it('keep the app secret of connections that stayed at another app, and say so', async () => {
    const [first, second] = await addTwo()
    const appSecret = 'fedcba9876543210fedcba9876543210'
    // Each app has its own tokens, so a number that moves to another app has another token.
    const accessToken = 'EAAG0000000000tokenOfAnotherApp'
    simulator.changeNumber('1001', { appSecret, accessToken })

    const settings = { app_secret: appSecret, access_token: accessToken }
    const changed = await ask<Shown>('changeChannelSettings', first.id, { settings })

    assert.deepEqual([changed.alsoChanged, changed.notChanged], [[], ['15550001002']])
    await ask('checkConnection', second.id)
  })

  it('never restore a secret that was replaced during the check', async () => {
    const { id } = await ask<Shown>('addConnection', null, adding())
    const accessToken = 'EAAG0000000000renewedToken'
    const change = (settings: Readonly<Record<string, string>>) => ask('changeChannelSettings', id, { settings })
    whenPrepared = async () => {
      whenPrepared = async () => {}
      simulator.changeNumber('1001', { accessToken })
      await change({ access_token: accessToken })
    }

    await assert.rejects(change({ verify_token: 'another-word' }), { refusal: '409 connection_changed' })

    await ask('checkConnection', id)
    await change({ verify_token: 'another-word' })
    await ask('checkConnection', id)
  })
})
