import { commandLine } from '../../core/command-line.ts'
import type { AccountId, ConnectionId, MessageId } from '../../core/ids.ts'
import type { Administration, MessageView } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { relativeTime } from '../../format/instants.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { messageJson, timelineJson } from '../format/json-shapes.ts'
import { mapped } from '../format/mapped.ts'
import { printMessage } from '../format/print-message.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { parseLimit, parseNumber, parseState } from '../parse/argument.ts'
import { findAccountOrAll } from '../parse/find-account.ts'

const MESSAGE_COLUMNS = ['ID', 'FROM', 'TO', 'TYPE', 'STATE', 'REASON', 'ATTEMPTS', 'ACCEPTED', 'PUBLISHED']

interface ListOptions extends CommonOptions {
  readonly connection?: string
  readonly state?: string
  readonly limit?: string
}

export function addMessageCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('message', 'messages: what was accepted, and what became of it')
  addList(group, cli)
  addExplain(group, cli)
  addCancel(group, cli)
  addRetry(group, cli)
  addResolve(group, cli)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show messages, newest first; all of them unless --limit is given')
    .option('--connection <number>', 'only those of this connection')
    .option('--state <state>', 'only those in this state, such as QUEUED or FAILED')
    .option('--limit <count>', 'at most so many')
    .withAccount('only those of this account')
    .withJson('an array of messages')
    .withExamples(
      commandLine`message list --limit 20`,
      commandLine`message list --connection 15550001000 --state UNCONFIRMED`,
    )
    .action(async (options: ListOptions) => {
      const state = parseState(options.state)
      const limit = parseLimit(options.limit)
      await cli.withAdministration(async ({ administration }) => {
        const account = await findAccountOrAll(administration, options.account)
        const accountId = account?.id ?? null
        const connectionId = await findConnectionId(administration, accountId, options.connection)
        const messages = administration.listMessages({ accountId, connectionId, state, limit })
        if (options.json) return cli.jsonList(mapped(messages, messageJson))
        const { now } = cli.surroundings
        await cli.table({
          columns: MESSAGE_COLUMNS,
          rows: mapped(messages, (message) => messageRow(message, now())),
          whenEmpty: 'There is no such message.',
        })
      })
    })
}

async function findConnectionId(
  administration: Administration,
  accountId: AccountId | null,
  number: string | undefined,
): Promise<ConnectionId | null> {
  if (number === undefined) return null
  return (await administration.findConnection(parseNumber(number), accountId)).id
}

function addExplain(group: NuncioCommand, cli: Cli): void {
  group
    .command('explain')
    .description('explain a message in plain words: what happened when, why it waits or failed, and what to do')
    .argument('<id>', 'the message id, as in the header x-message-id of the reply')
    .withJson('the message with its timeline')
    .withExamples(commandLine`message explain 01a1fdcd-8a6b-7e11-a818-8cd1c5a13d6e`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const timeline = await administration.explainMessage(id as MessageId)
        if (options.json) await cli.json(timelineJson(timeline))
        else await cli.say(printMessage(timeline, cli.surroundings.now()))
      }),
    )
}

function addCancel(group: NuncioCommand, cli: Cli): void {
  group
    .command('cancel')
    .description('take a waiting message out of its lane')
    .argument('<id>', 'the message id')
    .withJson('the message')
    .withExamples(commandLine`message cancel 01a1fdcd-8a6b-7e11-a818-8cd1c5a13d6e`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const message = await administration.cancelMessage(id as MessageId, ACTOR)
        await printResult(cli, options, { message, sentence: cancelledSentence(message) })
      }),
    )
}

/** A message whose earlier attempt had an unknown result is out of its lane, but may have arrived. */
function cancelledSentence({ id, to, state }: MessageView): string {
  if (state === 'CANCELLED') return `Cancelled the message ${id} to ${to}.`
  return `Took the message ${id} to ${to} out of its lane. It is ${state}: an earlier attempt may have arrived. Ask the recipient, then: ${commandLine`message resolve ${id} --arrived`} or --send-again`
}

function addRetry(group: NuncioCommand, cli: Cli): void {
  group
    .command('retry')
    .description(
      'send a message that failed, expired or was cancelled again, as a new one at the end of the line; one that waits for its next try is tried at once',
    )
    .argument('<id>', 'the message id')
    .withJson('the new message, or the one that is tried at once')
    .withExamples(commandLine`message retry 01a1fdcd-8a6b-7e11-a818-8cd1c5a13d6e`)
    .action((id: string, options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const message = await administration.retryMessage(id as MessageId, ACTOR)
        const sentence =
          message.id === id ? 'Its wait is ended: it is tried at once.' : `Queued as the new message ${message.id}.`
        await printResult(cli, options, { message, sentence })
      }),
    )
}

function addResolve(group: NuncioCommand, cli: Cli): void {
  group
    .command('resolve')
    .description('say what became of a message that is UNCONFIRMED')
    .argument('<id>', 'the message id')
    .option('--arrived', 'it arrived: it becomes PUBLISHED, on your word')
    .option('--send-again', 'send it again as a new message; if it did arrive, the recipient has it twice')
    .withJson('the message, with --send-again the new one')
    .withExamples(commandLine`message resolve 01a1fdcd-8a6b-7e11-a818-8cd1c5a13d6e --arrived`)
    .action(async (id: string, options: CommonOptions & { arrived?: boolean; sendAgain?: boolean }) => {
      if (Boolean(options.arrived) === Boolean(options.sendAgain)) {
        throw new Refusal('argument_invalid', 'Say either --arrived or --send-again.')
      }
      await cli.withAdministration(async ({ administration }) => {
        const message = await administration.resolveMessage(
          id as MessageId,
          options.arrived ? 'arrived' : 'send-again',
          ACTOR,
        )
        const sentence = options.arrived
          ? `The message ${id} is PUBLISHED now, on your word.`
          : `Queued as the new message ${message.id}.`
        await printResult(cli, options, { message, sentence })
      })
    })
}

function printResult(
  cli: Cli,
  options: CommonOptions,
  { message, sentence }: { message: MessageView; sentence: string },
): Promise<void> {
  return options.json ? cli.json(messageJson(message)) : cli.say(sentence)
}

function messageRow(message: MessageView, now: number): readonly string[] {
  const { id, connection, to, type, state, reason, attempts, acceptedAt, publishedAt } = message
  const published = publishedAt === null ? '–' : relativeTime(publishedAt, now)
  return [id, connection, to, type, state, reason ?? '–', String(attempts), relativeTime(acceptedAt, now), published]
}
