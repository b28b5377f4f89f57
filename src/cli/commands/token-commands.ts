import { createHash } from 'node:crypto'
import { commandLine } from '../../core/command-line.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { Administration, TokenView } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { TOKEN_EVENT_NAMES, TOKEN_EVENTS } from '../../core/token/token.ts'
import { createToken, TOKEN_START, tokenPrefix } from '../../core/token/token-format.ts'
import { isoTime, plainTime, relativeTime } from '../../format/instants.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { tokenJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { collect, parseEvents, parseName, parseNumber, parseSources } from '../parse/argument.ts'
import { parseExpiry } from '../parse/expiry.ts'
import { findAccount, findAccountOrAll } from '../parse/find-account.ts'

interface CreateOptions extends CommonOptions {
  readonly name: string
  readonly expires: string
  readonly event?: readonly string[]
  /** False when --no-events is given. */
  readonly events: boolean
  readonly connection?: readonly string[]
  readonly fromAddress?: readonly string[]
}

export function addTokenCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('token', 'API tokens: what callers send in the header x-api-key')
  addCreate(group, cli)
  addList(group, cli)
  addDelete(group, cli)
}

function addCreate(group: NuncioCommand, cli: Cli): void {
  group
    .command('create')
    .description('make a token; it is shown once and only its hash is kept')
    .requiredOption('--name <name>', 'what people call it: 1 to 60 characters, unique within the account')
    .requiredOption(
      '--expires <when>',
      '7d, 30d, 60d, 90d, 1y, or a date up to 2 years ahead (it ends with that day, UTC)',
    )
    .option(
      '--event <event>',
      `what it may do (repeatable): ${TOKEN_EVENT_NAMES.join(', ')}; without this, all of them`,
      collect,
    )
    .option('--no-events', 'make it without any event: it will be refused everywhere')
    .withAccount('the account it belongs to; needed when there are several')
    .option('--connection <number>', 'bind it to this connection (repeatable)', collect)
    .option(
      '--from-address <range>',
      'let it be used only from these addresses, such as 203.0.113.0/24 (repeatable)',
      collect,
    )
    .withJson('{id, token, name, events, expiresAt}')
    .withExamples(
      commandLine`token create --name web-shop --expires 90d`,
      commandLine`token create --name alarm --expires 1y --connection 15550001000 --from-address 203.0.113.0/24`,
    )
    .action((options: CreateOptions) => create(cli, options))
}

async function create(cli: Cli, options: CreateOptions): Promise<void> {
  const { now, drawBytes } = cli.surroundings
  if (!options.events && options.event)
    throw new Refusal('argument_invalid', '--event and --no-events contradict each other.')
  const wanted = {
    name: parseName(options.name, 'a token'),
    expiresAt: parseExpiry(options.expires, now()),
    events: options.events ? parseEvents(options.event) : [],
    sourceRanges: parseSources(options.fromAddress),
  }
  const numbers = options.connection?.map(parseNumber)
  await cli.withAdministration(async ({ administration }) => {
    const { id: accountId } = await findAccount(administration, options.account)
    const connectionIds = await findIds(administration, accountId, numbers)
    const token = createToken(drawBytes)
    const sha256 = createHash('sha256').update(token).digest()
    const created = await administration.createToken(
      { ...wanted, accountId, connectionIds, sha256, prefix: tokenPrefix(token) },
      ACTOR,
    )
    if (created.events.length === 0)
      cli.warn('this token carries no event, so every request made with it is refused with 403.')
    const { id, name, events, expiresAt } = created
    if (options.json) return cli.json({ id, token, name, events, expiresAt: isoTime(expiresAt) })
    await cli.say(`${token}\n`)
    await cli.say(
      `This is the token “${name}”. It is shown only now: keep it secret, and send it in the header x-api-key.`,
    )
    await cli.say(`It expires ${relativeTime(expiresAt, now())}, on ${plainTime(expiresAt)}.`)
  })
}

async function findIds(
  administration: Administration,
  accountId: TokenView['accountId'],
  numbers: readonly string[] | undefined,
): Promise<readonly ConnectionId[] | null> {
  if (!numbers) return null
  const ids: ConnectionId[] = []
  for (const number of numbers) ids.push((await administration.findConnection(number, accountId)).id)
  return ids
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show all tokens, newest first, deleted ones too')
    .withAccount('only those of this account')
    .withJson('an array of tokens')
    .withExamples(commandLine`token list`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const account = await findAccountOrAll(administration, options.account)
        const tokens = await administration.listTokens(account?.id ?? null)
        if (options.json) return cli.jsonList(tokens.map(tokenJson))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['NAME', 'TOKEN', 'ACCOUNT', 'EVENTS', 'EXPIRES', 'LAST USED', 'ID'],
          rows: tokens.map((token) => row(token, now)),
          whenEmpty: `There is no token yet. Make one: ${commandLine`token create --name NAME --expires 30d`}`,
        })
      }),
    )
}

function row(token: TokenView, now: number): readonly string[] {
  const events =
    token.events.length === 0 ? 'none' : token.events.map((event) => TOKEN_EVENTS[event] ?? event).join(', ')
  const lastUsed = token.lastUsedAt === null ? 'never' : relativeTime(token.lastUsedAt, now)
  return [
    token.name,
    `${TOKEN_START}${token.prefix}…`,
    token.account,
    events,
    expiryText(token, now),
    lastUsed,
    token.id,
  ]
}

function expiryText({ deletedAt, expiresAt }: TokenView, now: number): string {
  if (deletedAt !== null) return `deleted ${relativeTime(deletedAt, now)}`
  return expiresAt <= now ? `expired ${relativeTime(expiresAt, now)}` : relativeTime(expiresAt, now)
}

function addDelete(group: NuncioCommand, cli: Cli): void {
  group
    .command('delete')
    .description('delete a token: from now on no request with it is accepted')
    .argument('<id, prefix or name>', 'which one; it must fit exactly one token')
    .withAccount('only among those of this account')
    .withJson('the token')
    .withExamples(commandLine`token delete web-shop`)
    .action((which: string, options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const account = await findAccountOrAll(administration, options.account)
        const deleted = await deleteToken(administration, which, account?.id ?? null)
        if (options.json) return cli.json(tokenJson(deleted))
        await cli.say(
          `Deleted the token “${deleted.name}” (${TOKEN_START}${deleted.prefix}…) of the account “${deleted.account}”.`,
        )
      }),
    )
}

async function deleteToken(
  administration: Administration,
  which: string,
  accountId: TokenView['accountId'] | null,
): Promise<TokenView> {
  try {
    return await administration.deleteToken(which, accountId, ACTOR)
  } catch (error) {
    const isUnknown = error instanceof Refusal && error.code === 'token_unknown'
    if (!isUnknown || !which.startsWith(TOKEN_START)) throw error
    // A prefix as the list shows it, or a whole token that a person found somewhere.
    return administration.deleteToken(tokenPrefix(which), accountId, ACTOR)
  }
}
