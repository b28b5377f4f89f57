import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { CliWorld } from '../../test/support/administration-world/run-cli.ts'

let world: CliWorld

beforeEach(() => {
  world = new CliWorld()
  return world.open('SQLite')
})

describe('the command line', () => {
  it('shows its help on stdout when asked, and on stderr when it does not know what to do', async () => {
    const asked = await world.cli('--help')
    const empty = await world.cli()
    const group = await world.cli('token')

    assert.equal(asked.code, 0)
    assert.match(asked.stdout, /Exit codes: 0 done, 1 refused or failed, 2 used wrongly/)
    assert.deepEqual([empty.code, empty.stdout, group.code], [2, '', 2])
    assert.match(group.stderr, /Usage: nuncio token/)
  })

  it('shows examples in the help of every command', async () => {
    const commands = [
      'serve',
      'migrate',
      'send',
      'config',
      'attention',
      'workers',
      'account create',
      'account list',
      'connection add',
      'connection list',
      'connection pause',
      'connection resume',
      'connection set',
      'connection remove',
      'token create',
      'token list',
      'token delete',
      'message list',
      'message explain',
      'message cancel',
      'message retry',
      'message resolve',
      'sandbox inbox',
    ]
    for (const command of commands) {
      const { code, stdout } = await world.cli(...command.split(' '), '--help')
      assert.equal(code, 0, command)
      assert.match(stdout, /Examples:\n {2}\$ /, command)
    }
  })

  it.each([[['fly']], [['account', 'create']], [['account', 'list', '--fly']], [['token', 'create', '--name', 'x']]])(
    'ends with 2 for %j, on one line that says why',
    async (args) => {
      const { code, stdout, stderr } = await world.cli(...args)

      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^nuncio: [^\n]+\nAdd --help/)
    },
  )

  it('prints a refusal in one sentence with its code', async () => {
    const { code, stdout, stderr } = await world.cli('message', 'explain', 'none')

    assert.deepEqual(
      [code, stdout, stderr],
      [
        1,
        '',
        'nuncio: There is no message with the id none. One whose time was over has been deleted (nuncio retention). (message_unknown)\n',
      ],
    )
  })

  it('prints a fault in one sentence, and its details only when asked for', async () => {
    await world.close()

    const brief = await world.cli('account', 'list')
    world.environment = { NUNCIO_LOG_LEVEL: 'debug' }
    const full = await world.cli('account', 'list')

    assert.equal(brief.code, 1)
    assert.match(brief.stderr, /^nuncio: Something went wrong that should not: [^\n]+NUNCIO_LOG_LEVEL=debug[^\n]+\n$/)
    assert.match(full.stderr, /\n {4}at /)
  })

  it('reports all wrong settings together, and warns of unknown ones', async () => {
    world.environment = { NUNCIO_PORT: 'x', NUNCIO_HOST: '???', NUNCIO_PROT: '1' }

    const { code, stderr } = await world.cli('account', 'list')

    assert.equal(code, 1)
    const lines = stderr.trimEnd().split('\n')
    assert.match(lines[0] ?? '', /^nuncio: warning: NUNCIO_PROT .* Did you mean NUNCIO_PORT\?$/)
    assert.match(lines[1] ?? '', /^nuncio: The setting NUNCIO_PORT .*\(setting_invalid\)$/)
    assert.match(lines[2] ?? '', /^nuncio: The setting NUNCIO_HOST .*\(setting_invalid\)$/)
  })

  it('makes a database only for `account create`', async () => {
    await world.cli('account', 'create', 'Acme')
    await world.cli('account', 'list')

    assert.deepEqual(world.created, [true, false])
  })

  it('prints its version', async () => {
    assert.match((await world.cli('--version')).stdout, /^\d+\.\d+\.\d+\n$/)
  })

  it('serves and migrates, saying before what is dangerous', async () => {
    world.environment = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }

    const served = await world.cli('serve')
    const migrated = await world.json('migrate')

    assert.equal(world.served, 1)
    assert.match(served.stderr, /warning: NUNCIO_MEDIA_ALLOWED_PRIVATE/)
    assert.deepEqual(migrated, { from: 0, to: 1 })
    assert.equal((await world.cli('migrate')).stdout, 'The database went from version 0 to 1.\n')
  })

  it('serves with the roles and processes that it is given, before what is set', async () => {
    world.environment = { NUNCIO_DATABASE_URL: 'postgres://db/nuncio', NUNCIO_PROCESSES: '2', NUNCIO_ROLES: 'dispatch' }

    await world.cli('serve', '--role', 'dispatch,api', '--processes', '4')
    const given = world.servedWith
    await world.cli('serve')
    const otherwise = world.servedWith

    assert.deepEqual([given?.roles, given?.processes], [['api', 'dispatch'], 4])
    assert.deepEqual([otherwise?.roles, otherwise?.processes], [['dispatch'], 2])
  })

  it.each([
    [
      ['--processes', '2'],
      /^nuncio: NUNCIO_PROCESSES is 2, but on SQLite one process serves\. [^\n]+\(setting_invalid\)\n$/,
    ],
    [['--role', 'api'], /^nuncio: NUNCIO_ROLES leaves out dispatch and console, [^\n]+\(setting_invalid\)\n$/],
    [
      ['--role', 'web'],
      /^nuncio: The setting NUNCIO_ROLES "web" \(command line\) is wrong: [^\n]+\(setting_invalid\)\n$/,
    ],
    [['--processes', '0'], /^nuncio: The setting NUNCIO_PROCESSES "0" \(command line\) is wrong: [^\n]+\n$/],
  ])('refuses to serve with %j', async (args, sentence) => {
    const { code, stderr } = await world.cli('serve', ...args)

    assert.deepEqual([code, world.served], [1, 0])
    assert.match(stderr, sentence)
  })
})

describe('config', () => {
  it('shows every setting with value and source, secrets masked', async () => {
    world.environment = { NUNCIO_PORT: '9000', NUNCIO_METRICS_SECRET: 'a-long-enough-secret' }

    const settings = await world.json<{ name: string; value: string | null; source: string }[]>('config')
    const { stdout } = await world.cli('config')

    const port = settings.find(({ name }) => name === 'NUNCIO_PORT')
    const secret = settings.find(({ name }) => name === 'NUNCIO_METRICS_SECRET')
    assert.deepEqual([port?.value, port?.source], ['9000', 'environment'])
    assert.equal(secret?.value, '********')
    assert.match(stdout, /NUNCIO_METRICS_SECRET +\*{8} +environment/)
    assert.doesNotMatch(stdout, /long-enough/)
  })

  it('works with wrong settings: it shows them, says what is wrong, and ends with 1', async () => {
    world.environment = { NUNCIO_PORT: 'x' }

    const { code, stdout, stderr } = await world.cli('config')

    assert.equal(code, 1)
    assert.match(stdout, /NUNCIO_PORT +x +environment +WRONG/)
    assert.match(stderr, /must be a whole number/)
  })
})
