import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { type CliAnswer, CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { NO_CALLS } from '../../../test/support/bridge/no-calls.ts'
import { startSimulator } from '../../../test/support/whatsapp-cloud/simulator.ts'
import type { Simulator } from '../../../test/support/whatsapp-cloud/simulator-types.ts'
import { createOnboardings } from '../../channels/registry.ts'
import type { ChannelOnboarding } from '../../core/ports/channel-onboarding.ts'
import { systemClock } from '../../server/system-clock.ts'
import { promptOnTerminal } from '../prompt-on-terminal.ts'

const NUMBER = '15550001000'
const TOKEN = 'EAAG0000000000tokenOfTheSystemUser'
const APP_SECRET = '0123456789abcdef0123456789abcdef'
const VERIFY_TOKEN = 'a-word-of-ours'
const SECRETS = [TOKEN, APP_SECRET, VERIFY_TOKEN]

let world: CliWorld
let simulator: Simulator
let folder: string

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  simulator = await startSimulator()
  simulator.addNumber({
    phoneNumberId: '106540352242922',
    businessAccountId: '102290129340398',
    number: NUMBER,
    accessToken: TOKEN,
    appSecret: APP_SECRET,
    verifyToken: VERIFY_TOKEN,
    quality: 'YELLOW',
  })
  simulator.addTemplate('102290129340398', { name: 'notice', language: 'en_US', body: 'News: {{1}} Goodbye.' })
  simulator.addTemplate('102290129340398', { name: 'two_parts', language: 'de', body: '{{1}} und {{2}} dann' })
  world.onboardings = createOnboardings({
    settings: { whatsappCloudUrl: simulator.url },
    clock: systemClock,
    guarded: NO_CALLS,
    extraFolder: () => '',
  })
  world.environment['NUNCIO_PUBLIC_URL'] = 'https://nuncio.example'
  folder = mkdtempSync(join(tmpdir(), 'nuncio-cli-'))
  await world.cli('account', 'create', 'Acme')
  return async () => {
    await simulator.close()
    await close()
  }
}

/** The path of a file that holds this, with the line break that an editor leaves. */
function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, `${text}\n`)
  return path
}

function given(change: Readonly<Record<string, string | null>> = {}): string[] {
  const settings: Record<string, string | null> = {
    phone_number_id: '106540352242922',
    business_account_id: '102290129340398',
    access_token: `@${file('token', TOKEN)}`,
    app_secret: `@${file('app-secret', APP_SECRET)}`,
    verify_token: `@${file('verify-token', VERIFY_TOKEN)}`,
    ...change,
  }
  return Object.entries(settings).flatMap(([name, text]) => (text === null ? [] : ['--set', `${name}=${text}`]))
}

const add = (...more: readonly string[]) =>
  world.cli('connection', 'add', NUMBER, '--channel', 'whatsapp-cloud', ...more)

function saysNoSecret({ stdout, stderr }: CliAnswer): void {
  for (const secret of SECRETS) assert.ok(!(stdout + stderr).includes(secret), stdout + stderr)
}

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each(ENGINES)('connections of WhatsApp Cloud at the command line, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are proven, shown with what is known of the number, and never with a secret', async () => {
    const added = await add(...given())
    const [listed, set] = [
      await world.cli('connection', 'list'),
      await world.cli('connection', 'set', NUMBER, 'least_gap=1s'),
    ]

    assert.equal(added.code, 0, added.stderr)
    assert.equal(added.stderr, '')
    assert.match(added.stdout, /^Connected 15550001000 \(whatsapp-cloud\) for the account “Acme”\.\n/)
    assert.match(added.stdout, /Name +Nuncio Test\n/)
    assert.match(added.stdout, /Quality +Medium {2}\(!\)\n/)
    assert.match(added.stdout, /Throughput +80 messages a second\n/)
    assert.match(added.stdout, /Callback URL {2}https:\/\/nuncio\.example\/channels\/whatsapp-cloud\/[0-9A-Za-z]{22}\n/)
    assert.match(added.stdout, /Verify token {2}the one you gave as verify_token\n/)
    assert.match(added.stdout, /Last report +none yet\n/)
    assert.match(added.stdout, /\nNext: .*nuncio send --from 15550001000/)
    for (const answer of [added, listed, set]) saysNoSecret(answer)
    for (const row of await world.all('select channel_settings from connection'))
      for (const secret of SECRETS) assert.ok(!String(row['channel_settings']).includes(secret))
  })

  it('say with --json what the network said, beside the promised fields', async () => {
    const added = await world.json('connection', 'add', NUMBER, '--channel', 'whatsapp-cloud', ...given())
    const checked = await world.json('connection', 'check', NUMBER)

    const facts = added['facts'] as { label: string; value: string; tone: string }[]
    assert.deepEqual(facts[0], { label: 'Name', value: 'Nuncio Test', tone: 'plain' })
    assert.deepEqual([checked['facts'], checked['callback']], [facts, added['callback']])
    assert.deepEqual(Object.keys(added['callback'] as object), ['url', 'problem', 'lastReportAt'])
    assert.equal(JSON.stringify(added).includes('v1.k'), false)
  })

  it('keep what the network said and when it was asked', async () => {
    await world.json('connection', 'add', NUMBER, '--channel', 'whatsapp-cloud', ...given())
    const kept = async () =>
      JSON.parse(String((await world.all('select network_check from connection'))[0]?.['network_check']))
    const { at: addedAt } = await kept()
    world.now += 60_000

    const { facts } = await world.json('connection', 'check', NUMBER)

    assert.equal(addedAt, world.now - 60_000)
    assert.deepEqual(await kept(), { at: world.now, facts })
  })

  it.each([
    [{ access_token: 'EAAG0000000000anotherToken' }, 1, 'connection_not_proven'],
    [{ phone_number_id: '999' }, 1, 'connection_not_proven'],
    [{ app_secret: 'ffffffffffffffffffffffffffffffff' }, 1, 'connection_not_proven'],
    [{ template_text: 'nothing:en_US' }, 1, 'connection_not_proven'],
    [{ phone_number_id: '+1 555' }, 2, 'argument_invalid'],
    [{ access_token: '@/nowhere/token' }, 2, 'argument_invalid'],
    [{ access_token: '@-', app_secret: '@-' }, 2, 'argument_invalid'],
    [{ colour: 'red' }, 2, 'argument_invalid'],
    [{ access_token: null, app_secret: null }, 2, 'argument_invalid'],
  ])('are refused with %j', async (change, code, refusal) => {
    const answer = await add(...given(change))

    assert.equal(answer.code, code, answer.stderr)
    assert.match(answer.stderr, new RegExp(`\\(${refusal}\\)\n$`))
    saysNoSecret(answer)
    assert.deepEqual(await world.json('connection', 'list'), [])
  })

  it('are refused when the network is away, and when another account has the number there', async () => {
    await add(...given())
    await world.cli('account', 'create', 'Others')
    const taken = await add(...given(), '--account', 'Others')
    await simulator.close()
    const away = await world.cli('connection', 'check', NUMBER, '--account', 'Acme')

    assert.match(taken.stderr, /\(network_key_taken\)\n$/)
    assert.doesNotMatch(taken.stderr, /Acme/)
    assert.match(away.stderr, /\(network_unreachable\)\n$/)
  })

  it('take secrets from files and standard input, and warn of those on the command line', async () => {
    world.input = `${TOKEN}\r\n`
    const quiet = await add(...given({ access_token: '@-' }))
    const loud = await world.cli('connection', 'set', NUMBER, `verify_token=another-word`, 'link_preview=off')

    assert.deepEqual([quiet.code, quiet.stderr], [0, ''])
    assert.equal(loud.code, 0)
    assert.match(
      loud.stderr,
      /^nuncio: warning: verify_token stood on the command line.*verify_token=@FILE, or verify_token=@-.*\n$/,
    )
    assert.doesNotMatch(loud.stdout + loud.stderr, /another-word/)
  })

  it('say in one warning which secrets stood on the command line', async () => {
    const added = await add(...given({ app_secret: APP_SECRET, verify_token: VERIFY_TOKEN }))

    assert.match(added.stderr, /^nuncio: warning: app_secret and verify_token stood on the command line[^\n]*\n$/)
    saysNoSecret(added)
  })

  it('say that a file is empty, and which settings there are, those of the lane too', async () => {
    const empty = await add(...given({ access_token: `@${file('empty', '')}` }))
    const unknown = await add(...given({ colour: 'red' }))

    assert.match(empty.stderr, /^nuncio: The file \S+empty, given as access_token, is empty\. /)
    assert.match(unknown.stderr, /has no setting colour\. It has: phone_number_id, .*; and every lane has: .*least_gap/)
  })

  it('show their settings as one writes them, but no secret', async () => {
    await add(...given({ link_preview: 'off' }))

    const set = await world.cli('connection', 'set', NUMBER, 'least_gap=1s')
    const check = await world.cli('connection', 'check', NUMBER)
    const checked = await world.json('connection', 'check', NUMBER)

    for (const answer of [set, check]) {
      assert.match(answer.stdout, /phone_number_id=106540352242922, .*access_token \(secret\).*link_preview=off/)
      assert.doesNotMatch(answer.stdout, /phoneNumberId|v1\.k/)
      saysNoSecret(answer)
    }
    assert.deepEqual(checked['settings'], {
      phone_number_id: '106540352242922',
      business_account_id: '102290129340398',
      link_preview: 'off',
    })
  })

  it('ask at a terminal for what is missing, and hide secrets there', async () => {
    world.typed = { access_token: TOKEN, app_secret: APP_SECRET, verify_token: VERIFY_TOKEN }

    const added = await add('--set', 'phone_number_id=106540352242922', '--set', 'business_account_id=102290129340398')

    assert.equal(added.code, 0, added.stderr)
    assert.deepEqual(
      world.questions.map(({ question, isHidden }) => [/\n(\w+)/.exec(question)?.[1], isHidden]),
      [
        ['access_token', true],
        ['app_secret', true],
        ['verify_token', true],
      ],
    )
  })

  it('change with one that was given anew and keep the others, also for who shares the callbacks', async () => {
    const other = { phoneNumberId: '106540352242923', number: '15550001001' }
    simulator.addNumber({
      ...other,
      businessAccountId: '102290129340398',
      accessToken: TOKEN,
      appSecret: APP_SECRET,
      verifyToken: VERIFY_TOKEN,
    })
    await add(...given())
    await world.cli(
      'connection',
      'add',
      other.number,
      '--channel',
      'whatsapp-cloud',
      ...given({ phone_number_id: other.phoneNumberId }),
    )
    const renewed = 'fedcba9876543210fedcba9876543210'
    for (const phoneNumberId of ['106540352242922', other.phoneNumberId])
      simulator.changeNumber(phoneNumberId, { appSecret: renewed })

    const changed = await world.cli('connection', 'set', NUMBER, `app_secret=@${file('renewed', renewed)}`)
    const checks = [
      await world.cli('connection', 'check', NUMBER),
      await world.cli('connection', 'check', other.number),
    ]

    assert.equal(changed.code, 0, changed.stderr)
    assert.match(changed.stdout, /The secret of the callbacks was changed for 15550001001 too/)
    assert.deepEqual(
      checks.map(({ code }) => code),
      [0, 0],
    )
    const links = await world.all('select distinct callback_app from connection')
    assert.equal(links.length, 1)
  })

  it('never put a secret back that was replaced while the network was asked', async () => {
    await add(...given())
    const before = world.onboardings
    const [openOnboarding] = [...before.values()]
    const onboarding = await openOnboarding?.()
    assert.ok(onboarding)
    const renewed = 'EAAG0000000000renewedToken'
    const slow: ChannelOnboarding = {
      ...onboarding,
      async prove(wanted) {
        const proof = await onboarding.prove(wanted)
        world.onboardings = before
        simulator.changeNumber('106540352242922', { accessToken: renewed })
        const token = `access_token=@${file('renewed', renewed)}`
        assert.equal((await world.cli('connection', 'set', NUMBER, token)).code, 0)
        return proof
      },
    }
    world.onboardings = new Map([['whatsapp-cloud', async () => slow]])

    const late = await world.cli('connection', 'set', NUMBER, `verify_token=@${file('word', 'another-word')}`)

    assert.match(late.stderr, /\(connection_changed\)\n$/)
    const checked = await world.cli('connection', 'check', NUMBER)
    assert.equal(checked.code, 0, checked.stderr)
  })

  it('leave the callback secret of those alone that did not move with it, and say so', async () => {
    const other = { phoneNumberId: '106540352242923', number: '15550001001' }
    const known = { businessAccountId: '102290129340398', accessToken: TOKEN, verifyToken: VERIFY_TOKEN }
    simulator.addNumber({ ...other, ...known, appSecret: APP_SECRET })
    await add(...given())
    const its = given({ phone_number_id: other.phoneNumberId })
    await world.cli('connection', 'add', other.number, '--channel', 'whatsapp-cloud', ...its)
    const renewed = 'fedcba9876543210fedcba9876543210'
    // A token belongs to one app, so a move to another app brings another token.
    const accessToken = 'EAAG0000000000tokenOfAnotherApp'
    simulator.changeNumber('106540352242922', { appSecret: renewed, accessToken })

    const changed = await world.cli(
      ...['connection', 'set', NUMBER, `app_secret=@${file('renewed', renewed)}`],
      `access_token=@${file('token-of-another-app', accessToken)}`,
    )

    assert.equal(changed.code, 0, changed.stderr)
    assert.match(changed.stdout, /15550001001 has the same callback address and keeps its own secret/)
    assert.doesNotMatch(changed.stdout, /was changed for/)
    assert.equal((await world.cli('connection', 'check', other.number)).code, 0)
  })

  it('list the templates of the business account, and which setting each fits', async () => {
    await add(...given())
    const table = await world.cli('connection', 'templates', NUMBER)
    const templates = await world.json<{ name: string; fits: string | null; why: string | null }[]>(
      'connection',
      'templates',
      NUMBER,
    )

    assert.match(table.stdout, /^TEMPLATE +STATUS +CATEGORY +HEADER +FITS +BODY\n/)
    assert.match(table.stdout, /notice:en_US +APPROVED +UTILITY +– +template_text +News: \{\{1\}\}/)
    assert.deepEqual(
      templates.map(({ name, fits, why }) => [name, fits, why === null]),
      [
        ['two_parts', null, false],
        ['notice', 'template_text', true],
      ],
    )
    await world.cli('connection', 'add', '15550001009', '--channel', 'sandbox')
    assert.match((await world.cli('connection', 'templates', '15550001009')).stdout, /which has no templates/)
    assert.match((await world.cli('connection', 'check', '15550001009')).stdout, /which has no network to ask/)
  })
})

describe('a question at the terminal', () => {
  const ask = async (typed: string, isHidden: boolean) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const answer = promptOnTerminal({ input, output }, { question: 'access_token: ', isHidden })
    input.end(typed)
    const result = await answer.catch((error: unknown) => (error as Error).message)
    return [result, String(output.read())]
  }

  it('shows what is typed only where it is no secret', async () => {
    const [open, shown] = await ask('plain\r', false)
    const [secret, hidden] = await ask('hidden\r', true)

    assert.deepEqual([open, secret, hidden], ['plain', 'hidden', 'access_token: \n'])
    assert.match(shown ?? '', /plain/)
  })

  it('ends without an answer when the person at the terminal goes away', async () => {
    assert.deepEqual((await ask('', true))[0], 'Nothing was entered, so nothing was changed.')
    assert.deepEqual((await ask('\u0003', true))[0], 'Nothing was entered, so nothing was changed.')
  })
})
