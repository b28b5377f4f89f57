import packageFile from '../../package.json' with { type: 'json' }
import { commandPrefix } from '../core/command-line.ts'
import type { Cli } from './cli.ts'
import { addAccountCommands } from './commands/account-commands.ts'
import { addAdapterCommands } from './commands/adapter-commands.ts'
import { addAttentionCommand } from './commands/attention-command.ts'
import { addBackupCommand } from './commands/backup-command.ts'
import { addBlockCommands } from './commands/block-commands.ts'
import { addChannelCommands } from './commands/channel-commands.ts'
import { addConfigCommand } from './commands/config-command.ts'
import { addConnectionCommands } from './commands/connection-commands.ts'
import { addCopyCommand } from './commands/copy-command.ts'
import { addDoctorCommand } from './commands/doctor-command.ts'
import { addHoldCommand } from './commands/hold-command.ts'
import { addLogCommands } from './commands/log-commands.ts'
import { addMessageCommands } from './commands/message-commands.ts'
import { addRecipientDataCommands } from './commands/recipient-data-commands.ts'
import { addRestoreCommand } from './commands/restore-command.ts'
import { addRetentionCommand } from './commands/retention-command.ts'
import { addSandboxCommands } from './commands/sandbox-commands.ts'
import { addSecretsCommands } from './commands/secrets-commands.ts'
import { addSendCommand } from './commands/send-command.ts'
import { addServiceCommands } from './commands/service-commands.ts'
import { addTokenCommands } from './commands/token-commands.ts'
import { addUserCommands } from './commands/user-commands.ts'
import { addVerifyCommand } from './commands/verify-command.ts'
import { addWebhookCommands } from './commands/webhook-commands.ts'
import { addWorkersCommand } from './commands/workers-command.ts'
import { NuncioCommand } from './nuncio-command.ts'

/** All commands. Building them does nothing else, so that the manual can be printed from them too. */
export function createProgram(cli: Cli): NuncioCommand {
  const { surroundings } = cli
  const program = new NuncioCommand(commandPrefix())
    .description(
      'Nuncio sends chat messages for you: one HTTP call, a durable lane per number, and a log that never lies.',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void surroundings.out(text).catch(() => {}),
      writeErr: (text) => surroundings.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'nuncio: ')),
    })
    .showHelpAfterError('Add --help to see how the command is used.')
    .version(packageFile.version, '-V, --version', 'print the version')
    .addHelpText('after', `\n${ABOUT}`)
  addServiceCommands(program, cli)
  addCopyCommand(program, cli)
  addBackupCommand(program, cli)
  addRestoreCommand(program, cli)
  addVerifyCommand(program, cli)
  addSendCommand(program, cli)
  addAccountCommands(program, cli)
  addUserCommands(program, cli)
  addConnectionCommands(program, cli)
  addChannelCommands(program, cli)
  addAdapterCommands(program, cli)
  addTokenCommands(program, cli)
  addWebhookCommands(program, cli)
  addMessageCommands(program, cli)
  addLogCommands(program, cli)
  addAttentionCommand(program, cli)
  addWorkersCommand(program, cli)
  addRecipientCommands(program, cli)
  addSandboxCommands(program, cli)
  addHoldCommand(program, cli)
  addRetentionCommand(program, cli)
  addSecretsCommands(program, cli)
  addConfigCommand(program, cli)
  addDoctorCommand(program, cli)
  return program
}

const ABOUT = `Exit codes: 0 done, 1 refused or failed, 2 used wrongly.
Commands work while the service runs on the same data, and take effect at once.
With --json a command prints one object or one array; times are ISO 8601 in UTC.`

function addRecipientCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('recipient', 'recipients: who asked to stop, and what is known of one number')
  addBlockCommands(group, cli)
  addRecipientDataCommands(group, cli)
}
