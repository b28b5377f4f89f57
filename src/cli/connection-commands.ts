import type { AdministrationSession } from '../app/open-administration.ts'
import { DEFAULT_LANE_POLICY } from '../core/connection/lane-policy.ts'
import type { ConnectionView } from '../core/ports/administration.ts'
import { explainReason } from '../core/reasons.ts'
import { Refusal } from '../core/refusals.ts'
import { ACTOR, type Cli } from './cli.ts'
import { connectionJson } from './json-shapes.ts'
import type { CommonOptions, NuncioCommand } from './nuncio-command.ts'
import { collect, parseNumber } from './parse/argument.ts'
import { changePolicy, LANE_SETTINGS_HELP, policyText, splitSettings } from './parse/connection-settings.ts'
import { findAccount, findAccountOrAll } from './parse/find-account.ts'
import { relativeTime } from './print/times.ts'

const WHOSE = 'the account it belongs to; needed when several have this number'

export function addConnectionCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('connection', 'connections: the numbers that messages are sent from')
  addAdd(group, cli)
  addList(group, cli)
  addPause(group, cli)
  addResume(group, cli)
  addSet(group, cli)
  addRemove(group, cli)
}

function addAdd(group: NuncioCommand, cli: Cli): void {
  group
    .command('add')
    .description('connect a number')
    .argument('<number>', 'country code and digits only, such as 15550001000')
    .requiredOption('--channel <name>', 'the network it is reached through, such as sandbox')
    .withAccount('the account it will belong to; needed when there are several')
    .option('--set <key=value>', 'a setting of the connection (repeatable), see below', collect)
    .withJson('the connection')
    .addHelpText('after', `\n${LANE_SETTINGS_HELP}`)
    .withExamples(
      'nuncio connection add 15550001000 --channel sandbox',
      'nuncio connection add 15550001001 --channel sandbox --set latency=200ms --set least_gap=1s',
    )
    .action(async (given: string, options: CommonOptions & { channel: string; set?: readonly string[] }) => {
      const number = parseNumber(given)
      const { lane, channel: pairs } = splitSettings(options.set ?? [])
      const policy = changePolicy(DEFAULT_LANE_POLICY, lane)
      await cli.withAdministration(async (session) => {
        const channel = findChannel(session, options.channel)
        const channelSettings = parseChannelSettings(session, channel, pairs)
        const { id: accountId } = await findAccount(session.administration, options.account)
        const added = await session.administration.addConnection(
          { accountId, number, channel, policy, channelSettings },
          ACTOR,
        )
        await tell(cli, options, {
          connection: added,
          sentence: `Connected ${number} (${channel}) for the account “${added.account}”.`,
        })
      })
    })
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show all connections, how much waits on each, and why those that stand still do so')
    .withAccount('only those of this account')
    .withJson('an array of connections')
    .withExamples('nuncio connection list', 'nuncio connection list --account Acme --json')
    .action((options: CommonOptions) =>
      cli.withAdministration(async ({ administration }) => {
        const account = await findAccountOrAll(administration, options.account)
        const connections = await administration.listConnections(account?.id ?? null)
        if (options.json) return cli.jsonList(connections.map(connectionJson))
        const now = cli.surroundings.now()
        await cli.table({
          columns: ['NUMBER', 'ACCOUNT', 'CHANNEL', 'STATE', 'WAITING', 'OLDEST', 'STANDS STILL BECAUSE'],
          rows: connections.map((connection) => row(connection, now)),
          whenEmpty: 'There is no connection yet. Add one: nuncio connection add NUMBER --channel sandbox',
        })
      }),
    )
}

function row(connection: ConnectionView, now: number): readonly string[] {
  const { number, account, channel, state, waiting, oldestWaitingAt } = connection
  const oldest = oldestWaitingAt === null ? '–' : relativeTime(oldestWaitingAt, now)
  return [number, account, channel, state, String(waiting), oldest, whyStill(connection, now)]
}

function whyStill({ reason, reasonWords, reasonUntil }: ConnectionView, now: number): string {
  if (reason === null) return '–'
  const words = reasonWords ? ` (“${reasonWords}”)` : ''
  const until = reasonUntil === null ? '' : ` Goes on ${relativeTime(reasonUntil, now)}.`
  return `${explainReason(reason).sentence}${words}${until}`
}

function addPause(group: NuncioCommand, cli: Cli): void {
  group
    .command('pause')
    .description('let the open attempt finish and start no other; messages are still accepted and wait')
    .argument('<number>', 'the number of the connection')
    .withAccount(WHOSE)
    .withJson('the connection')
    .withExamples('nuncio connection pause 15550001000')
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async ({ administration }, { id }) => {
        const connection = await administration.setConnectionState(id, 'paused', ACTOR)
        await tell(cli, options, { connection, sentence: `Paused ${number}. ${waitingSentence(connection)}` })
      }),
    )
}

function addResume(group: NuncioCommand, cli: Cli): void {
  group
    .command('resume')
    .description('send again, at once: a wait the lane was in is ended')
    .argument('<number>', 'the number of the connection')
    .withAccount(WHOSE)
    .withJson('the connection')
    .withExamples('nuncio connection resume 15550001000')
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async ({ administration }, { id }) => {
        const connection = await administration.setConnectionState(id, 'active', ACTOR)
        await tell(cli, options, { connection, sentence: `Resumed ${number}. ${waitingSentence(connection)}` })
      }),
    )
}

function addSet(group: NuncioCommand, cli: Cli): void {
  group
    .command('set')
    .description('change settings of a connection; those not named stay as they are')
    .argument('<number>', 'the number of the connection')
    .argument('<key=value...>', 'settings, see below')
    .withAccount(WHOSE)
    .withJson('the connection')
    .addHelpText('after', `\n${LANE_SETTINGS_HELP}`)
    .withExamples('nuncio connection set 15550001000 least_gap=2s gap_jitter=1s')
    .action(async (number: string, given: readonly string[], options: CommonOptions) => {
      const { lane, channel: pairs } = splitSettings(given)
      await withConnection(cli, { number, options }, async (session, before) => {
        const policy = changePolicy(before.policy, lane)
        const channelSettings = { ...before.channelSettings, ...parseChannelSettings(session, before.channel, pairs) }
        const connection = await session.administration.changeConnection(before.id, { policy, channelSettings }, ACTOR)
        await tell(cli, options, {
          connection,
          sentence: `Changed ${number}. Its settings are now: ${settingsText(connection)}`,
        })
      })
    })
}

function addRemove(group: NuncioCommand, cli: Cli): void {
  group
    .command('remove')
    .description('disconnect a number; its messages stay in the log')
    .argument('<number>', 'the number of the connection')
    .option('--cancel-waiting', 'cancel the messages that wait on it; without this it is refused while any do')
    .withAccount(WHOSE)
    .withJson('the connection as it was and how many messages were cancelled')
    .withExamples('nuncio connection remove 15550001000 --cancel-waiting')
    .action((number: string, options: CommonOptions & { cancelWaiting?: boolean }) =>
      withConnection(cli, { number, options }, async ({ administration }, before) => {
        const cancelled = await administration.removeConnection(before.id, options.cancelWaiting ?? false, ACTOR)
        const nothing = { waiting: 0, oldestWaitingAt: null, reason: null }
        if (options.json) return cli.json({ ...connectionJson(before), ...nothing, state: 'removed', cancelled })
        await cli.say(`Removed ${number}. ${cancelledSentence(cancelled)}`)
      }),
    )
}

async function withConnection(
  cli: Cli,
  { number, options }: { readonly number: string; readonly options: CommonOptions },
  work: (session: AdministrationSession, connection: ConnectionView) => Promise<void>,
): Promise<void> {
  parseNumber(number)
  await cli.withAdministration(async (session) => {
    const account = await findAccountOrAll(session.administration, options.account)
    await work(session, await session.administration.findConnection(number, account?.id ?? null))
  })
}

/** A setting that a channel refuses is a mistake on the command line here. */
function parseChannelSettings(
  session: AdministrationSession,
  channel: string,
  pairs: Readonly<Record<string, string>>,
): Record<string, unknown> {
  try {
    return { ...session.parseChannelSettings(channel, pairs) }
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'setting_invalid') throw error
    throw new Refusal('argument_invalid', error.message, error.field, { cause: error })
  }
}

function findChannel({ channels }: AdministrationSession, name: string): string {
  if (channels.includes(name)) return name
  throw new Refusal('channel_unknown', `There is no channel “${name}”. There is: ${channels.join(', ')}.`, '--channel')
}

function tell(
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

function cancelledSentence(cancelled: number): string {
  if (cancelled === 0) return 'Nothing waited on it.'
  return cancelled === 1 ? '1 message was cancelled.' : `${cancelled} messages were cancelled.`
}

/** Only the names of the channel's settings: their values may be credentials. */
function settingsText({ policy, channelSettings }: ConnectionView): string {
  const names = Object.keys(channelSettings)
  return [policyText(policy), ...(names.length === 0 ? [] : [`of the channel: ${names.join(', ')}`])].join('; ')
}
