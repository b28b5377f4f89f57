import type { Argument, Option } from 'commander'
import { capitalized } from '../../format/capitalized.ts'
import { Cli } from '../cli.ts'
import { openEnvironment } from '../environment.ts'
import { NuncioCommand } from '../nuncio-command.ts'
import { LANE_SETTINGS_HELP } from '../parse/connection-settings.ts'
import { createProgram } from '../program.ts'

/** The text of docs/cli.md. */
export function makeCommandsPage(): string {
  const program = createProgram(new Cli(openEnvironment('')))
  return `# Command line

Every command is written as \`nuncio …\` here; in a clone, write \`npm run -s nuncio -- …\`, and with npx \`npx FILE …\`. Commands
work on the machine of the service, while it runs or not, and take effect at once. Each has \`--help\`.

With \`--json\` a command prints one object or one array on one stream, complete unless \`--limit\` is given; times are
ISO 8601 in UTC. Errors are sentences on stderr that end with a code of [the refusals](refusals.md).

| Exit code | Means |
|---|---|
| 0 | done |
| 1 | refused or failed |
| 2 | used wrongly |

${leaves(program)
  .map((command) => section(command))
  .join('\n')}
## Settings of a connection

\`\`\`
${LANE_SETTINGS_HELP}
\`\`\`
`
}

interface Leaf {
  readonly command: NuncioCommand
  readonly path: string
}

/** All commands that do something, in the order of the manual. */
export function leaves(command: NuncioCommand, path = 'nuncio'): readonly Leaf[] {
  const below = command.commands.filter((sub) => sub instanceof NuncioCommand)
  return below.length === 0 ? [{ command, path }] : below.flatMap((sub) => leaves(sub, `${path} ${sub.name()}`))
}

function section({ command, path }: Leaf): string {
  const args = command.registeredArguments.map(argumentUsage).join('')
  const rows = [...command.registeredArguments.map(argumentRow), ...command.options.map(optionRow)]
  const table = rows.length === 0 ? '' : `| | |\n|---|---|\n${rows.join('\n')}\n\n`
  return `## \`${path}${args}\`

${sentence(command.description())}

${table}\`\`\`sh
${command.examples.join('\n')}
\`\`\`
`
}

function argumentUsage(argument: Argument): string {
  return ` <${argument.name()}${argument.variadic ? '...' : ''}>`
}

function argumentRow(argument: Argument): string {
  return `| \`<${argument.name()}>\` | ${cell(argument.description)} |`
}

function optionRow({ flags, description, mandatory }: Option): string {
  return `| \`${flags}\` | ${cell(description)}${mandatory ? ' (required)' : ''} |`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

function sentence(text: string): string {
  return `${capitalized(text)}.`
}
