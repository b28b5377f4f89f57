import { commandLine } from '../../core/command-line.ts'
import type { AccountId, TokenId } from '../../core/ids.ts'
import type { Administration, RequestFilter, RequestView } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { TOKEN_START, tokenPrefix } from '../../core/token/token-format.ts'
import type { Cli } from '../cli.ts'
import { explainRequest } from '../format/explain-request.ts'
import { requestJson, requestTimelineJson } from '../format/json-shapes.ts'
import { mapped } from '../format/mapped.ts'
import { REQUEST_COLUMNS, requestRow } from '../format/request-row.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseLimit, parseNumber, parseStatuses } from '../parse/argument.ts'
import { findAccountOrAll } from '../parse/find-account.ts'

interface ListOptions extends CommonOptions {
  readonly token?: string
  readonly connection?: string
  readonly status?: string
  readonly limit?: string
}

// About what fits on a screen or two. The list of every request ever made, as JSON has it, is too long to read.
const TABLE_SHOWS = 50

export function addLogCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('log', 'the API log: every request with a known token, and how it was answered')
  addList(group, cli)
  addShow(group, cli)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description(
      `show requests, newest first: accepted, repeated and refused ones; the newest ${TABLE_SHOWS}, with --json all of them, unless --limit is given`,
    )
    .option('--token <id, prefix or name>', 'only those with this token, also a deleted one')
    .option('--connection <number>', 'only those that were to send from this number')
    .option('--status <status>', 'only those answered so, such as 401 or 4xx')
    .option('--limit <count>', 'at most so many')
    .withAccount('only those of this account')
    .withJson('an array of requests')
    .withExamples(commandLine`log list --status 4xx`, commandLine`log list --token web-shop --limit 200`)
    .action(async (options: ListOptions) => {
      const wanted = {
        connection: options.connection === undefined ? null : parseNumber(options.connection),
        statuses: parseStatuses(options.status),
        limit: parseLimit(options.limit),
      }
      await cli.withAdministration(async ({ administration }) => {
        const accountId = (await findAccountOrAll(administration, options.account))?.id ?? null
        const tokenIds = await findTokensOrAll(administration, accountId, options.token)
        const filter = { ...wanted, accountId, tokenIds }
        if (options.json) return cli.jsonList(mapped(administration.listRequests(filter), requestJson))
        await printRequests(cli, administration, filter)
      })
    })
}

async function printRequests(cli: Cli, administration: Administration, filter: RequestFilter): Promise<void> {
  if (filter.limit !== null) return printTable(cli, administration.listRequests(filter))
  // One more than is shown, to know whether some are left out.
  const newest: RequestView[] = []
  for await (const request of administration.listRequests({ ...filter, limit: TABLE_SHOWS + 1 })) newest.push(request)
  await printTable(cli, newest.slice(0, TABLE_SHOWS))
  if (newest.length > TABLE_SHOWS)
    await cli.say(`These are the newest ${TABLE_SHOWS}. More: --limit COUNT; all of them: --json`)
}

function printTable(cli: Cli, requests: AsyncIterable<RequestView> | readonly RequestView[]): Promise<void> {
  const now = cli.surroundings.now()
  return cli.table({
    columns: REQUEST_COLUMNS,
    rows: mapped(requests, (request) => requestRow(request, now)),
    whenEmpty: 'There is no such request. Requests without a known token are not kept.',
  })
}

function addShow(group: NuncioCommand, cli: Cli): void {
  group
    .command('show')
    .description('show what one request asked, what it was answered, and where it came from')
    .argument('<request id>', 'the id in the header x-request-id of the reply')
    .withAccount('only among those of this account')
    .withJson('the request with its body')
    .withExamples(commandLine`log show h9v0s33k-1`)
    .action((requestId: string, options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const account = await findAccountOrAll(administration, options.account)
        const timeline = await administration.findRequest(requestId, account?.id ?? null)
        if (options.json) await cli.json(requestTimelineJson(timeline))
        else await cli.say(explainRequest(timeline, cli.surroundings.now()))
      }),
    )
}

/**
 * All tokens that an id, a prefix or a name fits: the log of a name is also that of the deleted tokens that had it.
 * Null, meaning all tokens, when none is named.
 */
async function findTokensOrAll(
  administration: Administration,
  accountId: AccountId | null,
  wanted: string | undefined,
): Promise<readonly TokenId[] | null> {
  if (wanted === undefined) return null
  const tokens = await administration.listTokens(accountId)
  // An id names one token for ever, whatever names and prefixes others have.
  if (tokens.some(({ id }) => id === wanted)) return [wanted as TokenId]
  const prefix = wanted.startsWith(TOKEN_START) ? tokenPrefix(wanted) : wanted
  const fitting = tokens.filter((token) => token.name === wanted || token.prefix === prefix)
  if (fitting.length > 0) return fitting.map(({ id }) => id)
  // A whole token must not be printed: output ends up in files.
  const which = wanted.startsWith(TOKEN_START) ? `${TOKEN_START}${prefix}…` : wanted
  throw new Refusal('token_unknown', `There is no token with the id, prefix or name “${which}”.`)
}
