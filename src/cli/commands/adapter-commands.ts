import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Cli } from '../cli.ts'
import type { NuncioCommand } from '../nuncio-command.ts'

/** The adapters that come with Nuncio: files of the folder `adapters`. */
const ADAPTERS = ['kannel']

export function addAdapterCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('adapter')
    .description('run the adapter of a gateway, for connections of the channel bridge')
    .argument('<gateway>', `the gateway behind it: ${ADAPTERS.join(', ')}`)
    .requiredOption('--listen <host:port>', 'where it listens, such as 127.0.0.1:7900')
    .requiredOption('--secret-file <file>', 'the file with the secret of the connection')
    .requiredOption('--log <file>', 'the file in which it keeps what it knows of messages on their way')
    .requiredOption('--gateway <url>', 'the address of the gateway, such as http://127.0.0.1:13013')
    .option('--user <name>', 'the user name at the gateway')
    .option('--password-file <file>', 'the file with the password at the gateway')
    .option('--status <url>', 'the status page of Kannel, with its password')
    .option('--dlr-url <url>', 'where the gateway reaches the adapter (http:// and the address of --listen)')
    .option('--max-messages <count>', 'max-messages of Kannel (10)')
    .withExamples(
      commandLine`adapter kannel --listen 127.0.0.1:7900 --secret-file secret.txt --log kannel.log --gateway http://127.0.0.1:13013 --user nuncio --password-file password.txt`,
    )
    .action((gateway: string, options: Readonly<Record<string, string>>) => {
      if (!ADAPTERS.includes(gateway))
        throw new Refusal(
          'argument_invalid',
          `There is no adapter for “${gateway}”. There is one for: ${ADAPTERS.join(', ')}.`,
        )
      const given = Object.entries(options).flatMap(([name, value]) => [flagOf(name), value])
      cli.surroundings.runAdapter(gateway, given)
    })
}

/** `secretFile` → `--secret-file`. */
function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
