import { SETTINGS } from '../../config/settings.ts'
import { commandLine } from '../../core/command-line.ts'
import type { Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

export function addServiceCommands(program: NuncioCommand, cli: Cli): void {
  program
    .command('serve')
    .description('run the service until it gets a signal to stop (SIGTERM or Ctrl+C; a second one forces it)')
    .option(
      '--role <roles>',
      'what it does: api, dispatch or console, or several of them separated by commas; without this, NUNCIO_ROLES',
    )
    .option('--processes <count>', 'how many processes serve on this machine; without this, NUNCIO_PROCESSES')
    .withExamples(
      commandLine`serve`,
      `NUNCIO_PORT=9000 NUNCIO_DATA_DIR=/var/lib/nuncio ${commandLine`serve`}`,
      `NUNCIO_DATABASE_URL=postgres://nuncio:secret@db/nuncio ${commandLine`serve --role api,dispatch --processes 4`}`,
    )
    .action(async (options: { readonly role?: string; readonly processes?: string }) => {
      const given = { [SETTINGS.roles.name]: options.role, [SETTINGS.processes.name]: options.processes }
      const settings = cli.settings(given)
      for (const sentence of cli.surroundings.readSettings(given).warnings) cli.warn(sentence)
      await cli.surroundings.serve(settings)
    })

  program
    .command('migrate')
    .description('bring the database up to date with this version; `serve` does so by itself')
    .withJson('{from, to}: the version of the database before and after')
    .withExamples(commandLine`migrate`)
    .action(async (options: CommonOptions) => {
      const { from, to } = await cli.surroundings.migrate(cli.settings())
      if (options.json) return cli.json({ from, to })
      await cli.say(
        from === to
          ? `The database is up to date (version ${to}).`
          : `The database went from version ${from} to ${to}.`,
      )
    })
}
