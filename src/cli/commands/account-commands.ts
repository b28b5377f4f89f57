import { commandLine } from '../../core/command-line.ts'
import { relativeTime } from '../../format/instants.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { accountJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseName } from '../parse/argument.ts'

export function addAccountCommands(program: NuncioCommand, cli: Cli): void {
  const account = program.group('account', 'accounts: each has its own connections, tokens and messages')

  account
    .command('create')
    .description('make an account; makes the database too when there is none')
    .argument('<name>', 'what people call it: 1 to 60 characters')
    .withJson('the account')
    .withExamples(commandLine`account create Acme`)
    .action(async (given: string, options: CommonOptions) => {
      const name = parseName(given, 'an account')
      await cli.withAdministration(
        async ({ administration }) => {
          const created = await administration.createAccount(name, ACTOR)
          if (options.json) await cli.json(accountJson(created))
          else await cli.say(`Made the account “${created.name}” (${created.id}).`)
        },
        { create: true },
      )
    })

  account
    .command('list')
    .description('show all accounts, oldest first')
    .withJson('an array of accounts')
    .withExamples(commandLine`account list --json`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const accounts = await administration.listAccounts()
        if (options.json) return cli.jsonList(accounts.map(accountJson))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['NAME', 'ID', 'MADE'],
          rows: accounts.map(({ name, id, createdAt }) => [name, id, relativeTime(createdAt, now)]),
          whenEmpty: `There is no account yet. Make one: ${commandLine`account create NAME`}`,
        })
      }),
    )
}
