import { Cli } from '../../src/cli/cli.ts'
import { openEnvironment } from '../../src/cli/environment.ts'
import { leaves } from '../../src/cli/format/commands-page.ts'
import { createProgram } from '../../src/cli/program.ts'

/** The text of nuncio(1) in the package for Debian. */
export function makeManualPage(): string {
  const commands = leaves(createProgram(new Cli(openEnvironment('')))).map(({ command, path }) => {
    const args = command.registeredArguments
    const rows = [
      ...args.map((argument) => [`<${argument.name()}>`, argument.description]),
      ...command.options.map(({ flags, description }) => [flags, description]),
    ]
    return [
      `.SS "${quoted([path, ...args.map((argument) => `<${argument.name()}>`)].join(' '))}"`,
      sentence(command.description()),
      ...rows.flatMap(([name = '', text = '']) => ['.TP', `\\fB${escaped(name)}\\fR`, sentence(text)]),
      '.PP',
      'Examples:',
      '.nf',
      ...command.examples.map((example) => `    ${escaped(example)}`),
      '.fi',
    ].join('\n')
  })
  return `.TH NUNCIO 1
.SH NAME
nuncio \\- send chat messages: the service and its command line
.SH SYNOPSIS
.B nuncio
.I command
[\\fIarguments\\fR]
.SH DESCRIPTION
Commands work on the machine of the service, while it runs or not, and take effect at once.
Run them as root: nuncio goes on as the user nuncio, in the folder /var/lib/nuncio, with the settings of the service.
So give files and folders by their whole path.
Each command explains itself with \\fB\\-\\-help\\fR.
.PP
With \\fB\\-\\-json\\fR a command prints one object or one array; times are ISO 8601 in UTC.
.SH COMMANDS
${commands.join('\n')}
.SH FILES
.TP
.I /etc/nuncio/nuncio.env
Settings, one in a line.
.TP
.I /var/lib/nuncio
The database, the keys and media that wait.
.TP
.I /var/backups/nuncio
Backups of nuncio\\-backup.timer, once it is enabled.
.SH EXIT STATUS
0 when done, 1 when refused or failed, 2 when used wrongly.
.SH SEE ALSO
.BR systemctl (1),
and the documents that the service shows at /docs/.
`
}

function sentence(text: string): string {
  return `${escaped(`${text.charAt(0).toUpperCase()}${text.slice(1)}`)}.`
}

function quoted(text: string): string {
  return escaped(text).replaceAll('"', '\\(dq')
}

/** At the start of a line a dot or an apostrophe would begin a request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
    .replaceAll(/\n\s*/g, '\n.br\n')
}
