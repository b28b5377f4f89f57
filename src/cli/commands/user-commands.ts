import { createHash } from 'node:crypto'
import { commandLine } from '../../core/command-line.ts'
import { checkPassword } from '../../core/people/password-rules.ts'
import type { Role } from '../../core/people/role.ts'
import type { NewLink, PersonView } from '../../core/ports/console/people.ts'
import { Refusal } from '../../core/refusals.ts'
import { isoTime, plainTime, relativeTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseEmail, parseName, parseRole } from '../parse/argument.ts'
import { findAccount } from '../parse/find-account.ts'

interface AddOptions extends CommonOptions {
  readonly role: string
  readonly name?: string
  readonly passwordStdin?: boolean
}

interface ResetOptions extends CommonOptions {
  readonly passwordStdin?: boolean
  readonly removeSecondFactors?: boolean
}

const SECRET_BYTES = 32

export function addUserCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('user', 'people who sign in to the console')
  addAdd(group, cli)
  addList(group, cli)
  addResetPassword(group, cli)
  addSetupLink(group, cli)
}

function addAdd(group: NuncioCommand, cli: Cli): void {
  group
    .command('add')
    .description('invite a person into an account: prints a link that works once, for 7 days')
    .argument('<e-mail>', 'e-mail address of the person')
    .option('--role <role>', 'viewer, developer or owner', 'developer')
    .option('--name <name>', 'what to call them; together with --password-stdin')
    .option('--password-stdin', 'make the person at once, with the password that is read from standard input')
    .withAccount('the account they belong to; needed when there are several')
    .withJson('{email, account, role, url, expiresAt}, or the person')
    .withExamples(
      commandLine`user add anna@example.org --role owner`,
      commandLine`user add robot@example.org --password-stdin < password.txt`,
    )
    .action((email: string, options: AddOptions) => add(cli, email, options))
}

async function add(cli: Cli, given: string, options: AddOptions): Promise<void> {
  const wanted = { email: parseEmail(given), role: parseRole(options.role) }
  const name = options.name === undefined ? null : parseName(options.name, 'a person')
  if (name !== null && !options.passwordStdin)
    throw new Refusal('argument_invalid', '--name needs --password-stdin: an invited person chooses a name.')
  const password = options.passwordStdin ? await readPassword(cli) : null
  await cli.withAdministration(async (session) => {
    const account = await findAccount(session.administration, options.account)
    if (password === null) return invite(cli, session, { ...wanted, account, json: options.json === true })
    const person = { email: wanted.email, name: name ?? wanted.email.split('@')[0] ?? wanted.email }
    checkPassword(password, { ...person, hasSecondFactor: false })
    const passwordHash = await session.hashPassword(password)
    const membership = { accountId: account.id, role: wanted.role }
    const made = await session.people.addPerson({ ...person, passwordHash }, membership, ACTOR)
    if (options.json) return cli.json(personJson(made))
    await cli.say(`Made ${made.email}, ${wanted.role} of the account “${account.name}”.`)
  })
}

async function invite(
  cli: Cli,
  { people }: AdministrationSession,
  wanted: {
    readonly email: string
    readonly role: Role
    readonly account: Awaited<ReturnType<typeof findAccount>>
    readonly json: boolean
  },
): Promise<void> {
  const { email, role, account } = wanted
  const invitation = { accountId: account.id, email, role }
  const { url, expiresAt } = await makeLink(cli, people, { kind: 'invitation', personId: null, invitation })
  if (wanted.json) return cli.json({ email, account: account.name, role, url, expiresAt: isoTime(expiresAt) })
  await cli.say(`${url}\n`)
  await cli.say(`Give this link to ${email}: it makes them ${role} of the account “${account.name}”.`)
  await cli.say(`It works once, until ${plainTime(expiresAt)}.`)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show all people and the accounts they belong to')
    .withJson('an array of people')
    .withExamples(commandLine`user list`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ people }) => {
        const all = await people.listPeople()
        if (options.json) return cli.jsonList(all.map(personJson))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['E-MAIL', 'NAME', 'ACCOUNTS', 'SECOND FACTOR', 'LAST SIGN-IN'],
          rows: all.map((person) => [
            person.email,
            person.name,
            person.accounts.map(({ name, role }) => `${name} (${role})`).join(', ') || 'none',
            person.hasSecondFactor ? 'yes' : 'no',
            person.lastSignInAt === null ? 'never' : relativeTime(person.lastSignInAt, now),
          ]),
          whenEmpty: `There is no person yet. Make a link for the first owner: ${commandLine`user setup-link`}`,
        })
      }),
    )
}

function addResetPassword(group: NuncioCommand, cli: Cli): void {
  group
    .command('reset-password')
    .description('let a person choose a new password: prints a link that works once, for an hour')
    .argument('<e-mail>', 'e-mail address of the person')
    .option('--password-stdin', 'set the password that is read from standard input, at once')
    .option('--remove-second-factors', 'also remove their code app, passkeys and recovery codes, if all are lost')
    .withJson('{email, url, expiresAt}, or the person')
    .withExamples(commandLine`user reset-password anna@example.org`)
    .action((email: string, options: ResetOptions) => resetPassword(cli, email, options))
}

async function resetPassword(cli: Cli, given: string, options: ResetOptions): Promise<void> {
  const email = parseEmail(given)
  const password = options.passwordStdin ? await readPassword(cli) : null
  await cli.withAdministration(async ({ people, hashPassword }) => {
    const personId = (await people.findCredentials(email))?.personId
    const person = personId === undefined ? null : await people.findPerson(personId)
    if (!person) throw new Refusal('person_unknown', `There is no person with the e-mail ${email}.`)
    const hasSecondFactor = person.hasSecondFactor && !options.removeSecondFactors
    if (password !== null) checkPassword(password, { ...person, hasSecondFactor })
    if (options.removeSecondFactors) await people.removeAllFactors(person.id, ACTOR)
    if (password === null) {
      const link = await makeLink(cli, people, { kind: 'reset-password', personId: person.id, invitation: null })
      if (options.json) return cli.json({ email: person.email, url: link.url, expiresAt: isoTime(link.expiresAt) })
      await cli.say(`${link.url}\n`)
      return cli.say(`Give this link to ${person.email}. It works once, until ${plainTime(link.expiresAt)}.`)
    }
    await people.setPassword(person.id, { hash: await hashPassword(password), keep: null }, ACTOR)
    if (options.json) return cli.json(personJson(person))
    await cli.say(`Set a new password for ${person.email} and ended all their sessions.`)
  })
}

function addSetupLink(group: NuncioCommand, cli: Cli): void {
  group
    .command('setup-link')
    .description('print a one-time setup link for the first owner, while there is no person yet; it works for an hour')
    .withJson('{url, expiresAt}')
    .withExamples(commandLine`user setup-link`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ people }) => {
        const link = await makeLink(cli, people, { kind: 'set-up', personId: null, invitation: null })
        if (options.json) return cli.json({ url: link.url, expiresAt: isoTime(link.expiresAt) })
        await cli.say(`${link.url}\n`)
        await cli.say(
          `Open it to become the owner of this installation. It works once, until ${plainTime(link.expiresAt)}.`,
        )
      }),
    )
}

async function makeLink(cli: Cli, people: AdministrationSession['people'], link: Omit<NewLink, 'sha256'>) {
  const secret = Buffer.from(cli.surroundings.drawBytes(SECRET_BYTES)).toString('base64url')
  const sha256 = createHash('sha256').update(secret).digest()
  const { expiresAt } = await people.createPersonLink({ ...link, sha256 }, ACTOR)
  return { url: `${cli.settings().publicUrl}/console/${link.kind}/${secret}`, expiresAt }
}

/** Without the line break that most tools end with. */
async function readPassword(cli: Cli): Promise<string> {
  return (await cli.surroundings.readInput()).replace(/\r?\n$/, '')
}

function personJson({ id, email, name, accounts, hasSecondFactor, createdAt, lastSignInAt }: PersonView) {
  return {
    id,
    email,
    name,
    accounts: accounts.map((account) => ({ id: account.id, name: account.name, role: account.role })),
    hasSecondFactor,
    createdAt: isoTime(createdAt),
    lastSignInAt: lastSignInAt === null ? null : isoTime(lastSignInAt),
  }
}
