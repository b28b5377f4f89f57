import type { Cli } from '../cli.ts'
import type { NuncioCommand } from '../nuncio-command.ts'
import { addBlockCommands } from './block-commands.ts'
import { addRecipientDataCommands } from './recipient-data-commands.ts'

export function addRecipientCommands(program: NuncioCommand, cli: Cli): void {
  const group = program.group('recipient', 'recipients: who asked to stop, and what is known of one number')
  addBlockCommands(group, cli)
  addRecipientDataCommands(group, cli)
}
