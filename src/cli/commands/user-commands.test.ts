import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { createPeople } from '../../storage/queries/people/people.ts'

const PASSWORD = 'violet tractor napkin orbit'
const HOUR = 3_600_000

let world: CliWorld

function findPersonLink(url: string, kind: 'set-up' | 'invitation' | 'reset-password') {
  const secret = url.split('/').at(-1) ?? ''
  return createPeople(world.store).findPersonLink(createHash('sha256').update(secret).digest(), kind)
}

describe.each(ENGINES)('nuncio user, on %s', (engine) => {
  beforeEach(async () => {
    world = new CliWorld()
    world.environment = { NUNCIO_PUBLIC_URL: 'https://nuncio.example' }
    const close = await world.open(engine)
    await world.account()
    return close
  })

  it('add prints an invitation', async () => {
    const { url, expiresAt, role } = await world.json<{ url: string; expiresAt: string; role: string }>(
      ...['user', 'add', 'anna@example.org', '--role', 'owner'],
    )

    assert.match(url, /^https:\/\/nuncio\.example\/console\/invitation\/[\w-]{43}$/)
    assert.equal(Date.parse(expiresAt), NOON + 7 * 24 * HOUR)
    const link = await findPersonLink(url, 'invitation')
    assert.deepEqual([role, link?.email, link?.role, link?.account], ['owner', 'anna@example.org', 'owner', 'Acme'])
  })

  it('asks for the id of an account when another has the same name', async () => {
    const other = await world.account('Other')
    await world.run('update account set name = ?', 'Acme')

    const byName = await world.cli('user', 'add', 'anna@example.org', '--account', 'Acme')
    const byId = await world.cli('user', 'add', 'anna@example.org', '--account', other)

    assert.match(byName.stderr, /Several accounts are named “Acme”: name one by its id \(acc_.*acc_.*\)/)
    assert.equal(byId.code, 0)
  })

  it('add --password-stdin makes the person at once, and list shows them', async () => {
    world.input = `${PASSWORD}\n`
    const added = await world.cli('user', 'add', 'anna@example.org', '--password-stdin', '--name', 'Anna')
    const again = await world.cli('user', 'add', 'ANNA@example.org', '--password-stdin')
    const list = await world.cli('user', 'list')

    assert.equal(added.stdout, 'Made anna@example.org, developer of the account “Acme”.\n')
    assert.deepEqual(
      [again.code, again.stderr.includes('person_exists') || again.stderr.includes('already')],
      [1, true],
    )
    assert.match(list.stdout, /anna@example\.org +Anna +Acme \(developer\) +no +never/)
    const people = await world.json<{ id: string; email: string }[]>('user', 'list')
    assert.deepEqual(
      people.map(({ email }) => email),
      ['anna@example.org'],
    )
    const [row] = await world.all('select password_hash from person')
    assert.equal(row?.['password_hash'], `hash of ${PASSWORD}`)
  })

  it.each([
    ['an easy password', ['user', 'add', 'anna@example.org', '--password-stdin'], /among the first|at least 15/],
    ['what is no e-mail', ['user', 'add', 'anna'], /no e-mail address/],
    ['what is no role', ['user', 'add', 'anna@example.org', '--role', 'boss'], /viewer, developer, owner/],
    ['a name for an invited person', ['user', 'add', 'a@b', '--name', 'Anna'], /--password-stdin/],
    ['an unknown person', ['user', 'reset-password', 'missing@example.org'], /no person with the e-mail/],
  ])('refuses %s', async (_, args, sentence) => {
    world.input = 'password'

    const { code, stderr } = await world.cli(...args)

    assert.notEqual(code, 0)
    assert.match(stderr, sentence)
  })

  it('reset-password prints a link, or sets the password', async () => {
    world.input = PASSWORD
    await world.cli('user', 'add', 'anna@example.org', '--password-stdin')
    const { url } = await world.json<{ url: string }>('user', 'reset-password', 'anna@example.org')
    assert.equal((await findPersonLink(url, 'reset-password'))?.email, 'anna@example.org')

    world.input = 'purple anvil drizzle seven'
    await world.cli('user', 'reset-password', 'anna@example.org', '--password-stdin', '--remove-second-factors')

    assert.equal(await findPersonLink(url, 'reset-password'), null)
    const [row] = await world.all('select password_hash from person')
    assert.equal(row?.['password_hash'], 'hash of purple anvil drizzle seven')
    assert.deepEqual((await world.audit()).slice(-2), ['second-factor.remove-all', 'password.change'])
  })

  it('setup-link prints one as long as there is no person', async () => {
    const { url, expiresAt } = await world.json<{ url: string; expiresAt: string }>('user', 'setup-link')
    assert.match(url, /\/console\/set-up\/[\w-]{43}$/)
    assert.equal(Date.parse(expiresAt), NOON + HOUR)
    assert.ok(await findPersonLink(url, 'set-up'))

    world.input = PASSWORD
    await world.cli('user', 'add', 'anna@example.org', '--password-stdin')
    const refused = await world.cli('user', 'setup-link')

    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /There are people already/)
  })
})
