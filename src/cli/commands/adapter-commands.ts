import { commandLine } from '../../core/command-line.ts'
import type { Cli } from '../cli.ts'
import type { NuncioCommand } from '../nuncio-command.ts'

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
}

interface AdapterFile {
  /** Of its file in the folder `adapters`. */
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
