import type { Cli } from './cli.ts'
import type { CommonOptions, NuncioCommand } from './nuncio-command.ts'

export function addServiceCommands(program: NuncioCommand, cli: Cli): void {
  program
    .command('serve')
    .description('run the service until it is told to stop (SIGTERM or Ctrl+C; a second one forces it)')
    .withExamples('nuncio serve', 'NUNCIO_PORT=9000 NUNCIO_DATA_DIR=/var/lib/nuncio nuncio serve')
    .action(async () => {
      const settings = cli.settings()
      for (const sentence of cli.surroundings.readSettings().warnings) cli.warn(sentence)
      await cli.surroundings.serve(settings)
    })

  program
    .command('migrate')
    .description('bring the database up to date with this version; `serve` does so by itself')
    .withJson('{from, to}: the version of the database before and after')
    .withExamples('nuncio migrate')
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
