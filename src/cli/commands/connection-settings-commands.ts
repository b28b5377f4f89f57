import { commandLine } from '../../core/command-line.ts'
import { DEFAULT_LANE_POLICY } from '../../core/connection/lane-policy.ts'
import type { AccountId } from '../../core/ids.ts'
import type { ConnectionChange, ConnectionView } from '../../core/ports/administration.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import type { ConnectionFact } from '../../core/ports/channel-onboarding.ts'
import type { ReadPeers } from '../../core/ports/connection-service.ts'
import { Refusal } from '../../core/refusals.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { callbackLines, factLines } from '../format/connection-facts.ts'
import { connectionJson, networkJson } from '../format/json-shapes.ts'
import { settingLine } from '../format/setting-texts.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { collect, parseNumber } from '../parse/argument.ts'
import { ACCOUNT_OPTION, withConnection } from '../parse/connection-argument.ts'
import { changePolicy, LANE_SETTINGS_HELP, policyText, splitSettings } from '../parse/connection-settings.ts'
import { findAccount } from '../parse/find-account.ts'
import { promptForMissing, readSettingValues } from '../parse/setting-values.ts'

/** Commands that give a connection its settings, which its network proves first. */
export function addConnectionSettingsCommands(group: NuncioCommand, cli: Cli): void {
  addAdd(group, cli)
  addSet(group, cli)
}

function addAdd(group: NuncioCommand, cli: Cli): void {
  group
    .command('add')
    .description('connect a number; its network is asked first whether the settings work')
    .argument('<number>', 'country code and digits only, such as 15550001000')
    .requiredOption('--channel <name>', 'the network it is reached through, such as sandbox or whatsapp-cloud')
    .withAccount('the account it will belong to; needed when there are several')
    .option(
      '--set <key=value>',
      'a setting of the connection (repeatable), see below; @FILE reads a value from a file, @- from standard input',
      collect,
    )
    .withJson('the connection')
    .addHelpText('after', `\n${LANE_SETTINGS_HELP}`)
    .withExamples(
      commandLine`connection add 15550001000 --channel sandbox`,
      commandLine`connection add 15550001001 --channel sandbox --set latency=200ms --set least_gap=1s`,
      commandLine`connection add 15550001002 --channel whatsapp-cloud --set phone_number_id=106540352242922 --set business_account_id=102290129340398 --set access_token=@token.txt --set app_secret=@app-secret.txt --set verify_token=@verify-token.txt`,
    )
    .action((given: string, options: AddOptions) => add(cli, given, options))
}

type AddOptions = CommonOptions & { readonly channel: string; readonly set?: readonly string[] }

async function add(cli: Cli, given: string, options: AddOptions): Promise<void> {
  const number = parseNumber(given)
  const { lane, channel: pairs } = splitSettings(options.set ?? [])
  // Their mistakes are reported before anything is opened.
  changePolicy(DEFAULT_LANE_POLICY, lane)
  await cli.withAdministration(async (session) => {
    const { administration, connectionService } = session
    const description = findChannel(session, options.channel)
    const policy = changePolicy({ ...DEFAULT_LANE_POLICY, ...description.laneDefaults }, lane)
    const { id: accountId } = await findAccount(administration, options.account)
    const values = await readSettingValues(cli, description, pairs)
    const wanted = {
      accountId,
      number,
      channel: description.name,
      pairs: await promptForMissing(cli, description, values),
    }
    const prepared = await namingArguments(() => connectionService.prepareNew(wanted, othersOf(session, accountId)))
    const { id, link, facts } = prepared
    const connection = await administration.addConnection(
      {
        id,
        accountId,
        number,
        channel: wanted.channel,
        policy,
        channelSettings: { ...prepared.channelSettings },
        link,
      },
      ACTOR,
    )
    await administration.noteCheck(id, { facts, isTakenOver: true }, ACTOR)
    const callback = connectionService.callbackOf(connection)
    if (options.json) return cli.json({ ...connectionJson(connection), ...(link && networkJson({ facts, callback })) })
    await cli.say(`Connected ${number} (${wanted.channel}) for the account “${connection.account}”.`)
    if (facts.length > 0) await cli.say(['', ...factLines(facts)].join('\n'))
    if (connectionService.abilitiesOf(description.name).isLinkedDevice)
      await cli.say(`Next: link it to its phone: ${commandLine`connection pair ${number}`}`)
    if (callback) await cli.say(['', ...callbackLines(callback), '', nextStep(number)].join('\n'))
  })
}

function nextStep(number: string): string {
  return `Next: in the dashboard of your app at the network, register this URL with the verify token for callbacks (webhooks), and subscribe to “messages”. Then send the first message: ${commandLine`send --from ${number} --to NUMBER --text Hello`}`
}

function addSet(group: NuncioCommand, cli: Cli): void {
  group
    .command('set')
    .description('change settings of a connection; those not named stay as they are')
    .argument('<number>', 'the number of the connection')
    .argument('<key=value...>', 'settings, see below; @FILE reads a value from a file, @- from standard input')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection')
    .addHelpText('after', `\n${LANE_SETTINGS_HELP}`)
    .withExamples(
      commandLine`connection set 15550001000 least_gap=2s gap_jitter=1s`,
      commandLine`connection set 15550001002 access_token=@token.txt`,
    )
    .action(async (number: string, given: readonly string[], options: CommonOptions) => {
      const { lane, channel: pairs } = splitSettings(given)
      await withConnection(cli, { number, options }, async (session, before) => {
        const policy = Object.keys(lane).length === 0 ? null : changePolicy(before.policy, lane)
        const { connection, facts, alsoChanged, notChanged } = await change(cli, session, { before, policy, pairs })
        const { connectionService } = session
        const network = facts && networkJson({ facts, callback: connectionService.callbackOf(connection) })
        if (options.json) return cli.json({ ...connectionJson(connection), ...network })
        await cli.say(`Changed ${number}. Its settings are now: ${settingsText(session, connection)}`)
        if (alsoChanged.length > 0)
          await cli.say(
            `The secret of the callbacks was changed for ${alsoChanged.join(', ')} too: they share their address.`,
          )
        if (notChanged.length > 0)
          await cli.say(
            `${notChanged.join(', ')} has the same callback address and keeps its own secret: the network did not confirm the new one for it.`,
          )
        if (facts) await cli.say(['', ...factLines(facts)].join('\n'))
      })
    })
}

interface WantedChange {
  readonly before: ConnectionView
  /** Null: it stays as it is. */
  readonly policy: ConnectionView['policy'] | null
  readonly pairs: Readonly<Record<string, string>>
}

interface Changed {
  readonly connection: ConnectionView
  /** Null: the network was not asked. */
  readonly facts: readonly ConnectionFact[] | null
  /** Numbers of others that had to change with it. */
  readonly alsoChanged: readonly string[]
  /** Numbers of those that share its callback address and did not. */
  readonly notChanged: readonly string[]
}

async function change(cli: Cli, session: AdministrationSession, wanted: WantedChange): Promise<Changed> {
  const { administration, connectionService } = session
  const { before, policy, pairs } = wanted
  const { id } = before
  // The network has nothing to do with settings of the lane.
  if (Object.keys(pairs).length === 0) {
    const connection = await administration.changeConnection(id, { ...(policy && { policy }) }, ACTOR)
    return { connection, facts: null, alsoChanged: [], notChanged: [] }
  }
  const values = await readSettingValues(cli, findChannel(session, before.channel), pairs)
  const { channelSettings, link, facts, alongside, notChanged } = await namingArguments(() =>
    connectionService.prepareChange(before, values, othersOf(session, before.accountId)),
  )
  for (const other of alongside)
    await administration.changeConnection(other.connection.id, changeOf(other.connection, other), ACTOR)
  const connection = await administration.changeConnection(
    id,
    { ...(policy && { policy }), ...changeOf(before, { channelSettings, link }) },
    ACTOR,
  )
  if (facts) await administration.noteCheck(id, { facts, isTakenOver: false }, ACTOR)
  return { connection, facts, alsoChanged: alongside.map((other) => other.connection.number), notChanged }
}

/** The network may have taken long. A change that was made meanwhile must not be undone by older values. */
function changeOf(
  { channelSettings: expected }: Pick<ConnectionView, 'channelSettings'>,
  { channelSettings, link }: Pick<ConnectionView, 'channelSettings' | 'link'>,
): ConnectionChange {
  return { channelSettings, expected, ...(link && { link }) }
}

function othersOf({ administration }: AdministrationSession, accountId: AccountId): ReadPeers {
  return () => administration.listConnections(accountId)
}

/** A setting that a channel refuses is a mistake on the command line here. */
async function namingArguments<Prepared>(prepare: () => Promise<Prepared>): Promise<Prepared> {
  try {
    return await prepare()
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'setting_invalid') throw error
    throw new Refusal('argument_invalid', error.message, error.field, { cause: error })
  }
}

function findChannel({ channels }: AdministrationSession, wanted: string): ChannelDescription {
  const channel = channels.find(({ name }) => name === wanted)
  if (channel) return channel
  const names = channels.map(({ name }) => name).join(', ')
  throw new Refusal('channel_unknown', `There is no channel “${wanted}”. There is: ${names}.`, '--channel')
}

function settingsText({ channels }: AdministrationSession, connection: ConnectionView): string {
  const ofChannel = settingLine(channels, connection)
  return [policyText(connection.policy), ...(ofChannel === '' ? [] : [`of the channel: ${ofChannel}`])].join('; ')
}
