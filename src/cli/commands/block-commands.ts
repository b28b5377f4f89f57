import { BLOCK_REASON } from '../../contract/console/form-rules.ts'
import { commandLine } from '../../core/command-line.ts'
import type { AccountView } from '../../core/ports/administration.ts'
import type { Block } from '../../core/ports/recipients.ts'
import { readOneLine } from '../../core/read-one-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { csvLine } from '../../format/csv.ts'
import { isoTime, relativeTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { blockJson } from '../format/json-shapes.ts'
import { mapped } from '../format/mapped.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseNumber } from '../parse/argument.ts'
import { findAccount } from '../parse/find-account.ts'
import { parseNumberFile } from '../parse/number-file.ts'

const AT_ONCE = 1_000
const PAGE = 1_000
const OF = 'the account; needed when there are several'

type BlockOptions = CommonOptions & { readonly reason?: string; readonly file?: string }
type ListOptions = CommonOptions & { readonly find?: string; readonly csv?: boolean }

export function addBlockCommands(group: NuncioCommand, cli: Cli): void {
  addBlock(group, cli)
  addUnblock(group, cli)
  addBlocked(group, cli)
}

function addBlock(group: NuncioCommand, cli: Cli): void {
  group
    .command('block')
    .description(
      'put numbers on the block list: messages to them are accepted and then fail as recipient_blocked, also those that wait already',
    )
    .argument('[numbers...]', 'country code and digits only')
    .option('--file <path>', 'numbers from a file, one in a line, or the first column of a CSV; - reads standard input')
    .option('--reason <text>', 'the reason, shown in the list')
    .withAccount(OF)
    .withJson('{blocked, already}')
    .withExamples(
      commandLine`recipient block 15550100000 --reason 'asked by phone'`,
      commandLine`recipient block --file stop-list.csv --account Acme`,
    )
    .action(async (given: readonly string[], options: BlockOptions) => {
      const reason = parseReason(options.reason)
      const numbers = [...given.map(parseNumber), ...(await readNumbers(cli, options.file))]
      if (numbers.length === 0)
        throw new Refusal('argument_invalid', 'Name at least one number, or a file of them with --file.')
      await withAccount(cli, options, async ({ blockLists }, { id }) => {
        const sum = { blocked: 0, already: 0 }
        for (let at = 0; at < numbers.length; at += AT_ONCE) {
          const some = numbers.slice(at, at + AT_ONCE)
          const { blocked, already } = await blockLists.block(id, { numbers: some, reason }, ACTOR)
          sum.blocked += blocked
          sum.already += already
        }
        if (options.json) return cli.json(sum)
        await cli.say(blockedSentence(sum, numbers))
      })
    })
}

function blockedSentence(
  { blocked, already }: { readonly blocked: number; readonly already: number },
  numbers: readonly string[],
): string {
  const [only] = numbers
  if (only !== undefined && numbers.length === 1)
    return blocked === 1 ? `Blocked ${only}. Messages to it will not be sent.` : `${only} was blocked already.`
  const before = already > 0 ? ` ${already} were blocked already, or stood there twice.` : ''
  return `Blocked ${blocked} numbers. Messages to them will not be sent.${before}`
}

function addUnblock(group: NuncioCommand, cli: Cli): void {
  group
    .command('unblock')
    .description('take a number off the block list: what is sent to it from now on goes out; what has failed stays so')
    .argument('<number>', 'country code and digits only')
    .withAccount(OF)
    .withJson('the entry that was taken out')
    .withExamples(commandLine`recipient unblock 15550100000`)
    .action(async (text: string, options: CommonOptions) => {
      const number = parseNumber(text)
      await withAccount(cli, options, async ({ blockLists, recipientEntries }, { id }) => {
        const entry = await blockLists.unblock(id, await recipientEntries.entriesOf(id, number), ACTOR)
        if (options.json) return cli.json(blockJson(entry))
        await cli.say(`${number} may be written to again.`)
      })
    })
}

function addBlocked(group: NuncioCommand, cli: Cli): void {
  group
    .command('list-blocked')
    .description('list the blocked numbers; of people who were erased, only that there is an entry')
    .argument('[number]', 'only whether this number is blocked')
    .option('--find <digits>', 'only numbers that begin so')
    .option('--csv', 'print as CSV: number, since, by, reason; without people who were erased')
    .withAccount(OF)
    .withJson('an array of entries')
    .withExamples(
      commandLine`recipient list-blocked`,
      commandLine`recipient list-blocked 15550100000`,
      commandLine`recipient list-blocked --csv`,
    )
    .action(async (text: string | undefined, options: ListOptions) => {
      const number = text === undefined ? null : parseNumber(text)
      const find = options.find ?? null
      if (find !== null && !/^\d{1,15}$/.test(find))
        throw new Refusal('argument_invalid', `--find takes the digits that numbers begin with, and “${find}” is not.`)
      await withAccount(cli, options, async (session, account) => {
        const blocks = number === null ? listAll(session, account, find) : await findOne(session, account, number)
        await print(cli, options, blocks)
      })
    })
}

async function* listAll({ blockLists }: AdministrationSession, { id }: AccountView, find: string | null) {
  let after: string | null = null
  do {
    const page = await blockLists.listBlocks(id, { find, after, limit: PAGE })
    yield* page.items
    after = page.next
  } while (after !== null)
}

async function findOne({ blockLists, recipientEntries }: AdministrationSession, { id }: AccountView, number: string) {
  const found = await blockLists.findBlock(id, await recipientEntries.entriesOf(id, number))
  return found ? [found] : []
}

async function print(
  cli: Cli,
  { json, csv }: ListOptions,
  blocks: AsyncIterable<Block> | Iterable<Block>,
): Promise<void> {
  if (json) return cli.jsonList(mapped(blocks, blockJson))
  if (csv) {
    await cli.say('number,since,by,reason')
    for await (const { recipient, since, blockedBy, reason } of blocks)
      if (recipient !== null) await cli.say(csvLine([recipient, isoTime(since), blockedBy, reason ?? '']))
    return
  }
  const now = cli.surroundings.now()
  await cli.table({
    columns: ['NUMBER', 'SINCE', 'BY', 'REASON'],
    rows: mapped(blocks, ({ recipient, since, blockedBy, reason }) => [
      recipient ?? '(erased)',
      relativeTime(since, now),
      blockedBy,
      reason ?? '–',
    ]),
    whenEmpty: 'No number is blocked.',
  })
}

function withAccount(
  cli: Cli,
  options: CommonOptions,
  work: (session: AdministrationSession, account: AccountView) => Promise<void>,
): Promise<void> {
  return cli.withAdministration(async (session) =>
    work(session, await findAccount(session.administration, options.account)),
  )
}

async function readNumbers(cli: Cli, path: string | undefined): Promise<readonly string[]> {
  if (path === undefined) return []
  const { readInput, readFile } = cli.surroundings
  if (path === '-') return parseNumberFile(await readInput(), 'standard input')
  const text = await readFile(path).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    const { code = 'unknown error' } = error as { code?: string }
    throw new Refusal('argument_invalid', `The file ${path} cannot be read (${code}).`, '--file')
  })
  return parseNumberFile(text, path)
}

function parseReason(text: string | undefined): string | null {
  return readOneLine(text ?? '', BLOCK_REASON) || null
}
