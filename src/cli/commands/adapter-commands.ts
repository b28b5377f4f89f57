import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Cli } from '../cli.ts'
import type { Environment } from '../environment.ts'
import type { NuncioCommand } from '../nuncio-command.ts'
import { parseNumber } from '../parse/argument.ts'

export function addAdapterCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('adapter', 'adapters of gateways, for connections of the channel bridge')

  addAdapter(group, cli, { name: 'kannel', title: 'Kannel', gateway: 'http://127.0.0.1:13013' })
    .option('--user <name>', 'the user name at Kannel')
    .option('--password-file <file>', 'the file with the password at Kannel')
    .option('--status <url>', 'the status page of Kannel, with its password')
    .option('--dlr-url <url>', 'where Kannel reaches the adapter (http:// and the address of --listen)')
    .option('--max-messages <count>', 'max-messages of Kannel (10)')
    .withExamples(
      commandLine`adapter kannel --listen 127.0.0.1:7900 --secret-file secret.txt --log kannel.log --gateway http://127.0.0.1:13013 --user nuncio --password-file password.txt`,
    )
  const hasKey = (named: NuncioCommand, title: string) =>
    named
      .requiredOption(
        '--webhook-key-file <file>',
        `the file with the secret that the webhook of ${title} is set up with`,
      )
      .option('--key-file <file>', `the file with the API key of ${title}`)
  const example = 'http://127.0.0.1:3000'
  hasKey(addAdapter(group, cli, { name: 'waha', title: 'WAHA', gateway: example }), 'WAHA')
    .option('--session <name>', 'the session of WAHA (default)')
    .withExamples(
      commandLine`adapter waha --listen 127.0.0.1:7900 --secret-file secret.txt --log waha.log --gateway http://127.0.0.1:3000 --key-file key.txt --webhook-key-file webhook.txt`,
    )
  const evolution = { name: 'evolution', title: 'Evolution API', gateway: 'http://127.0.0.1:8080' }
  hasKey(addAdapter(group, cli, evolution), 'Evolution API')
    .requiredOption('--instance <name>', 'the instance of Evolution API')
    .withExamples(
      commandLine`adapter evolution --listen 127.0.0.1:7900 --secret-file secret.txt --log evolution.log --gateway http://127.0.0.1:8080 --instance shop --key-file key.txt --webhook-key-file webhook.txt`,
    )
  addAdapter(group, cli, { name: 'gowa', title: 'GOWA', gateway: example })
    .requiredOption('--webhook-key-file <file>', 'the file with the secret of the webhook of GOWA')
    .option('--user <name>', 'the user name at GOWA')
    .option('--password-file <file>', 'the file with the password at GOWA')
    .option('--device <id>', 'the device of GOWA, where it has several')
    .withExamples(
      commandLine`adapter gowa --listen 127.0.0.1:7900 --secret-file secret.txt --log gowa.log --gateway http://127.0.0.1:3000 --user nuncio --password-file password.txt --webhook-key-file webhook.txt`,
    )
  addVerify(group, cli)
}

function addVerify(group: NuncioCommand, cli: Cli): void {
  group
    .command('verify')
    .description(
      'try what the protocol demands of an adapter, and print one line for each promise. Without --to nothing is sent',
    )
    .argument('<url>', 'where the adapter listens')
    .requiredOption('--secret-file <file>', 'the file with the secret that the adapter was started with')
    .option('--to <number>', 'send messages of the test to this number')
    .option('--from <number>', 'from this number (the first one that the adapter names)')
    .option('--receipts <host:port>', 'listen here for receipts, and disturb them; the adapter must reach it')
    .option(
      '--proxy <host:port=url>',
      'listen here for what goes to the gateway at this URL, and disturb it; the adapter must have been started with http:// and this address as its gateway',
    )
    .option('--restart', 'ask for restarts of the adapter, and try what it still knows afterwards')
    .withExamples(
      commandLine`adapter verify http://127.0.0.1:7900 --secret-file secret.txt`,
      commandLine`adapter verify http://127.0.0.1:7900 --secret-file secret.txt --to 15551230001 --from 15550009000 --receipts 127.0.0.1:7998 --proxy 127.0.0.1:7999=http://127.0.0.1:13013`,
    )
    .action(async (url: string, options: VerifyOptions) => {
      const { to = null, from = null, receipts = null, proxy = null } = options
      if (to === null && (receipts ?? proxy) !== null)
        throw new Refusal('argument_invalid', 'Receipts and calls of the gateway need messages: give --to as well.')
      const { surroundings } = cli
      const secrets = await surroundings.readFile(options.secretFile)
      const given = { url, secrets, to: to && parseNumber(to), from: from && parseNumber(from), receipts, proxy }
      const restart = options.restart ? restartBy(surroundings.ask) : null
      const counts = { kept: 0, broken: 0 }
      for await (const { title, problem } of surroundings.verifyAdapter({ ...given, restart })) {
        counts[problem === null ? 'kept' : 'broken'] += 1
        await cli.say(problem === null ? `ok     ${title}` : `WRONG  ${title}: ${problem}`)
      }
      await cli.say(`${counts.kept} of ${counts.kept + counts.broken} promises are kept.`)
      if (counts.broken > 0) cli.exitCode = 1
    })
}

interface VerifyOptions {
  readonly secretFile: string
  readonly to?: string
  readonly from?: string
  readonly receipts?: string
  readonly proxy?: string
  readonly restart?: boolean
}

function restartBy(ask: Environment['ask']): () => Promise<void> {
  if (!ask) throw new Refusal('argument_invalid', 'Only a person at a terminal can be asked to restart the adapter.')
  return async () => {
    await ask({ question: 'Stop the adapter, start it again on the same log, and press Enter. ', isHidden: false })
  }
}

interface AdapterFile {
  /** The name of its file in the folder `adapters`. */
  readonly name: string
  readonly title: string
  /** An address that it may have. */
  readonly gateway: string
}

function addAdapter(group: NuncioCommand, cli: Cli, { name, title, gateway }: AdapterFile): NuncioCommand {
  return group
    .command(name)
    .description(`run the adapter of ${title}`)
    .requiredOption('--listen <host:port>', 'where it listens, such as 127.0.0.1:7900')
    .requiredOption('--secret-file <file>', 'the file with the secret of the connection')
    .requiredOption('--log <file>', 'the file in which it keeps what it knows of messages on their way')
    .requiredOption('--gateway <url>', `the address of ${title}, such as ${gateway}`)
    .action((options: Readonly<Record<string, string>>) => {
      const given = Object.entries(options).flatMap(([option, value]) => [flagOf(option), value])
      cli.surroundings.runAdapter(name, given)
    })
}

/** `secretFile` → `--secret-file`. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
