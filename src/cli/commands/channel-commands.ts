import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { ChannelExtra, ChannelRow } from '../../operations/channel-extras.ts'
import type { Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

const STATES: Readonly<Record<ChannelRow['state'], string>> = {
  'built-in': 'part of Nuncio',
  installed: 'installed',
  outdated: 'installed for another version of Nuncio',
  'not-installed': 'not installed',
}

type InstallOptions = CommonOptions & { readonly offline?: string; readonly yes?: boolean }

export function addChannelCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('channel', 'channels: the ways that messages leave by')
  addList(group, cli)
  addInstall(group, cli)
  addRemove(group, cli)
}

function addList(group: NuncioCommand, cli: Cli): void {
  group
    .command('list')
    .description('show all channels, and whether their packages are installed')
    .withJson('[{channel, label, state}]')
    .withExamples(commandLine`channel list`)
    .action(async (options: CommonOptions) => {
      const { dataDir } = cli.settings()
      const extras = await cli.surroundings.openExtras()
      const channels = await extras.list(dataDir)
      if (options.json) return cli.json(channels)
      await cli.table({
        columns: ['CHANNEL', 'NAME', 'STATE'],
        rows: channels.map(({ channel, label, state }) => [channel, label, STATES[state]]),
        whenEmpty: 'There is no channel.',
      })
    })
}

function addInstall(group: NuncioCommand, cli: Cli): void {
  group
    .command('install')
    .description('install the packages of a channel into the data folder, after showing their licences')
    .argument('<channel>', 'its name')
    .option('--offline <folder>', 'take them from a folder in which they were installed on another machine')
    .option('--yes', 'do it without asking')
    .withJson('{channel, isNew}')
    .withExamples(
      commandLine`channel install whatsapp-web`,
      commandLine`channel install whatsapp-web --offline /media/extras/whatsapp-web --yes`,
    )
    .action(async (channel: string, options: InstallOptions) => {
      const { dataDir } = cli.settings()
      const extras = await cli.surroundings.openExtras()
      // On stderr: what is printed as the result stays clean.
      cli.surroundings.err(licenceText(extras.find(channel)))
      if (!options.yes) await confirm(cli)
      const isNew = await extras.install({ dataDir, channel, offline: options.offline ?? null })
      if (options.json) return cli.json({ channel, isNew })
      await cli.say(
        isNew ? `Installed the packages of ${channel}.` : `The packages of ${channel} were installed before.`,
      )
    })
}

function addRemove(group: NuncioCommand, cli: Cli): void {
  group
    .command('remove')
    .description('remove the packages of a channel from the data folder')
    .argument('<channel>', 'its name')
    .withJson('{channel, wasInstalled}')
    .withExamples(commandLine`channel remove whatsapp-web`)
    .action(async (channel: string, options: CommonOptions) => {
      const { dataDir } = cli.settings()
      const extras = await cli.surroundings.openExtras()
      extras.find(channel)
      const wasInstalled = await extras.remove(dataDir, channel)
      if (options.json) return cli.json({ channel, wasInstalled })
      await cli.say(
        wasInstalled ? `Removed the packages of ${channel}.` : `The packages of ${channel} were not installed.`,
      )
    })
}

function licenceText({ label, licences, warnings }: ChannelExtra): string {
  const widest = Math.max(...licences.map(({ name, version }) => `${name} ${version}`.length))
  const rows = licences.map(({ name, version, licence }) => `  ${`${name} ${version}`.padEnd(widest)}  ${licence}\n`)
  return `The channel ${label} needs these packages:\n\n${rows.join('')}\n${warnings.map((sentence) => `${sentence}\n`).join('')}\n`
}

async function confirm(cli: Cli): Promise<void> {
  const { ask } = cli.surroundings
  if (!ask) throw new Refusal('argument_invalid', 'Say --yes to install them without being asked.')
  const answer = await ask({ question: 'Type yes to install them: ', isHidden: false })
  if (answer.trim().toLowerCase() !== 'yes')
    throw new Refusal('argument_invalid', 'That was not yes, so nothing was installed.')
}
