import { CONNECTION_NAME } from '../../contract/console/form-rules.ts'
import { commandLine } from '../../core/command-line.ts'
import type { Instant } from '../../core/ids.ts'
import type { TakenOut } from '../../core/message/taken-out.ts'
import type { ConnectionView } from '../../core/ports/administration.ts'
import { readOneLine } from '../../core/read-one-line.ts'
import { explainStandstill } from '../../core/sentences/explain-standstill.ts'
import { relativeTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { erasureText } from '../format/erasure-text.ts'
import { goesOn } from '../format/goes-on.ts'
import { connectionJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { ACCOUNT_OPTION, withConnection } from '../parse/connection-argument.ts'
import { findAccountOrAll } from '../parse/find-account.ts'
import { addConnectionBacklogCommand } from './connection-backlog-command.ts'
import { addConnectionNetworkCommands } from './connection-network-commands.ts'
import { addConnectionPhoneCommands } from './connection-phone-commands.ts'
import { addConnectionSettingsCommands } from './connection-settings-commands.ts'

export function addConnectionCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('connection', 'connections: the numbers that messages are sent from')
  addConnectionSettingsCommands(group, cli)
  addConnectionNetworkCommands(group, cli)
  addConnectionPhoneCommands(group, cli)
  addList(group, cli)
  addRename(group, cli)
  addPause(group, cli)
  addResume(group, cli)
  addConnectionBacklogCommand(group, cli)
  addRemove(group, cli)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show all connections, how much waits on each, and why those that stand still do so')
    .withAccount('only those of this account')
    .withJson('an array of connections')
    .withExamples(commandLine`connection list`, commandLine`connection list --account Acme --json`)
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ administration, lanes }) => {
        const account = await findAccountOrAll(administration, options.account)
        const connections = await administration.listConnections(account?.id ?? null)
        if (options.json) return cli.jsonList(connections.map(connectionJson))
        const known = { lanes, now: cli.surroundings.now() }
        const rows: (readonly string[])[] = []
        for (const connection of connections) rows.push(await row(connection, known))
        await cli.table({
          columns: ['NUMBER', 'NAME', 'ACCOUNT', 'CHANNEL', 'STATE', 'WAITING', 'OLDEST', 'STANDS STILL BECAUSE'],
          rows,
          whenEmpty: `There is no connection yet. Add one: ${commandLine`connection add NUMBER --channel sandbox`}`,
        })
      }),
    )
}

async function row(connection: ConnectionView, known: Known): Promise<readonly string[]> {
  const { number, name, account, channel, state, waiting, oldestWaitingAt } = connection
  const oldest = oldestWaitingAt === null ? '–' : relativeTime(oldestWaitingAt, known.now)
  return [number, name ?? '–', account, channel, state, String(waiting), oldest, await whyStill(connection, known)]
}

interface Known extends Pick<AdministrationSession, 'lanes'> {
  readonly now: Instant
}

async function whyStill(connection: ConnectionView, { lanes, now }: Known): Promise<string> {
  const { reason, reasonWords: words, reasonUntil } = connection
  if (reason === null) return '–'
  const { why, until } = await explainStandstill(connection, { reason, words, until: reasonUntil }, { lanes, now })
  const quote = why.quote ? ` ${why.quote.speaker}: “${why.quote.words}”` : ''
  return `${why.cause}${quote}${until === null ? '' : ` Goes on ${goesOn({ reason: why.code, until }, now)}.`}`
}

function addRename(group: NuncioCommand, cli: Cli): void {
  group
    .command('rename')
    .description('give a connection a name, which lists show beside its number; an empty one takes it away')
    .argument('<number>', 'the number of the connection')
    .argument('<name>', 'up to 60 characters')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection')
    .withExamples(commandLine`connection rename 15550001000 ${'Front desk'}`)
    .action(async (number: string, given: string, options: CommonOptions) => {
      const name = readOneLine(given, CONNECTION_NAME) || null
      await withConnection(cli, { number, options }, async ({ administration }, { id }) => {
        const connection = await administration.changeConnection(id, { name }, ACTOR)
        const sentence = name === null ? `${number} has no name any more.` : `${number} is now called “${name}”.`
        await printResult(cli, options, { connection, sentence })
      })
    })
}

function addPause(group: NuncioCommand, cli: Cli): void {
  group
    .command('pause')
    .description('let the open attempt finish and start no other; messages are still accepted and wait')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection')
    .withExamples(commandLine`connection pause 15550001000`)
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async ({ administration }, { id }) => {
        const connection = await administration.setConnectionState(id, 'paused', ACTOR)
        await printResult(cli, options, { connection, sentence: `Paused ${number}. ${waitingSentence(connection)}` })
      }),
    )
}

function addResume(group: NuncioCommand, cli: Cli): void {
  group
    .command('resume')
    .description('send again, at once: a wait the lane was in is ended')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection')
    .withExamples(commandLine`connection resume 15550001000`)
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async ({ administration, lanes }, { id }) => {
        const connection = await administration.setConnectionState(id, 'active', ACTOR)
        // Something else may hold it: all numbers, quiet hours, or no service that runs.
        const known = { lanes, now: cli.surroundings.now() }
        const still = connection.reason === null ? '' : ` ${await whyStill(connection, known)}`
        const sentence = `Resumed ${number}. ${waitingSentence(connection)}${still}`
        await printResult(cli, options, { connection, sentence })
      }),
    )
}

const UNLINKED_SOON =
  'This device disappears from the phone’s list of linked devices once a worker has logged it out. If it stays there while Nuncio runs, log it out on the phone.'

function addRemove(group: NuncioCommand, cli: Cli): void {
  group
    .command('remove')
    .description('disconnect a number; its messages stay in the log')
    .argument('<number>', 'the number of the connection')
    .option('--cancel-waiting', 'cancel the messages that wait on it; without this it is refused while any do')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection as it was, and how many messages were cancelled or became unconfirmed')
    .withExamples(commandLine`connection remove 15550001000 --cancel-waiting`)
    .action((number: string, options: CommonOptions & { cancelWaiting?: boolean }) =>
      withConnection(cli, { number, options }, async ({ administration, deviceSessions }, before) => {
        const device = await deviceSessions.read(before)
        const taken = await administration.removeConnection(before.id, options.cancelWaiting ?? false, ACTOR)
        const nothing = { waiting: 0, oldestWaitingAt: null, reason: null }
        if (options.json) return cli.json({ ...connectionJson(before), ...nothing, state: 'removed', ...taken })
        await cli.say(`Removed ${number}. ${takenOutSentence(taken)}${device?.isLinked ? `\n${UNLINKED_SOON}` : ''}`)
      }),
    )
}

function printResult(
  cli: Cli,
  options: CommonOptions,
  { connection, sentence }: { connection: ConnectionView; sentence: string },
): Promise<void> {
  return options.json ? cli.json(connectionJson(connection)) : cli.say(sentence)
}

function waitingSentence({ waiting }: ConnectionView): string {
  return waiting === 0
    ? 'Nothing waits on it.'
    : waiting === 1
      ? '1 message waits on it.'
      : `${waiting} messages wait on it.`
}

function takenOutSentence(taken: TakenOut): string {
  return taken.cancelled + taken.unconfirmed === 0 ? 'Nothing waited on it.' : erasureText(taken)
}
