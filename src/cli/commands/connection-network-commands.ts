import { commandLine } from '../../core/command-line.ts'
import { hasDispatcher } from '../../core/dispatch/workers/has-dispatcher.ts'
import type { ConnectionView } from '../../core/ports/administration.ts'
import type { TemplateView } from '../../core/ports/channel-onboarding.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { callbackLines, factLines } from '../format/connection-facts.ts'
import { deviceSessionLines } from '../format/device-session.ts'
import { connectionJson, deviceSessionJson, networkJson, templateJson } from '../format/json-shapes.ts'
import { settingLine, settingTexts } from '../format/setting-texts.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { ACCOUNT_OPTION, withConnection } from '../parse/connection-argument.ts'

/** Commands that ask the network of a connection, and take over what it says now. */
export function addConnectionNetworkCommands(group: NuncioCommand, cli: Cli): void {
  addCheck(group, cli)
  addTemplates(group, cli)
}

function addCheck(group: NuncioCommand, cli: Cli): void {
  group
    .command('check')
    .description('ask the network whether the connection still works, and what it says of the number')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection, with its settings that are no secrets and what the network said')
    .withExamples(commandLine`connection check 15550001000`)
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async (session, connection) => {
        const { administration, connectionService, channels } = session
        if (connectionService.abilitiesOf(connection.channel).isLinkedDevice)
          return checkPhone(cli, session, { connection, options })
        const others = () => administration.listConnections(connection.accountId)
        const { facts: checked, change } = await connectionService.check(connection, others)
        if (change) await administration.changeConnection(connection.id, change, ACTOR)
        await administration.noteCheck(connection.id, { facts: checked, isTakenOver: true }, ACTOR)
        const facts = [...checked, ...(await connectionService.readReported(connection, cli.surroundings.now()))]
        const callback = connectionService.callbackOf(connection)
        if (options.json)
          return cli.json({
            ...connectionJson(connection),
            settings: settingTexts(channels, connection),
            ...networkJson({ facts, callback }),
          })
        if (facts.length === 0)
          return cli.say(`${number} is a connection of ${connection.channel}, which has no network to ask.`)
        const lines = [...factLines(facts), ...(callback ? callbackLines(callback) : [])]
        await cli.say([`${number} works.`, ...lines, `  Settings: ${settingLine(channels, connection)}`].join('\n'))
      }),
    )
}

/** WhatsApp is not asked: the worker that holds the lane knows the status of the session. */
async function checkPhone(
  cli: Cli,
  { administration, deviceSessions, connectionService }: AdministrationSession,
  { connection, options }: { readonly connection: ConnectionView; readonly options: CommonOptions },
): Promise<void> {
  const { accountId, id, number } = connection
  const view = await deviceSessions.read({ accountId, id })
  const facts = await connectionService.readReported(connection, null)
  const hasWorker = hasDispatcher(await administration.listWorkers())
  const now = cli.surroundings.now()
  const session = { ...deviceSessionJson(number, view, now), hasWorker }
  if (options.json)
    await cli.json({ ...connectionJson(connection), session, ...networkJson({ facts, callback: null }) })
  else await cli.say([...deviceSessionLines(number, { view, hasWorker, now }), ...factLines(facts)].join('\n'))
  if (view?.status !== 'ready' || !hasWorker) cli.exitCode = 1
}

function addTemplates(group: NuncioCommand, cli: Cli): void {
  group
    .command('templates')
    .description('list the message templates that the network has for the business account of a connection')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('an array of templates')
    .withExamples(commandLine`connection templates 15550001000`)
    .action((number: string, options: CommonOptions) =>
      withConnection(cli, { number, options }, async ({ connectionService }, connection) => {
        const templates = await connectionService.listTemplates(connection)
        if (options.json) return cli.jsonList(templates.map(templateJson))
        await cli.table({
          columns: ['TEMPLATE', 'STATUS', 'CATEGORY', 'HEADER', 'FITS', 'BODY'],
          rows: templates.map(row),
          whenEmpty: connectionService.abilitiesOf(connection.channel).hasTemplates
            ? `The business account of ${number} has no templates yet. They are made and approved at the network.`
            : `${number} is a connection of ${connection.channel}, which has no templates.`,
        })
      }),
    )
}

function row({ name, language, status, category, header, body, fits, why }: TemplateView): readonly string[] {
  const fitting = fits ?? (why ? `no: ${why}` : 'no')
  return [`${name}:${language}`, status, category, header ?? '–', fitting, body.replaceAll(/\s+/g, ' ')]
}
