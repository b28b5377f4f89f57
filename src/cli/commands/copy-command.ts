import { type DatabaseChoice, databaseUrl, describeDatabase } from '../../config/database-url.ts'
import type { Settings } from '../../config/read-settings.ts'
import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { CopiedCount, CopiedHold, CopyProgress } from '../../operations/copy.ts'
import type { Cli } from '../cli.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

const REPORT_EVERY_MS = 1_000
const SHOWN_OF_CHECKSUM = 16

type CopyOptions = CommonOptions & { readonly from?: string; readonly to?: string }

export function addCopyCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('copy')
    .description(
      'move an installation from SQLite to an empty database on PostgreSQL; stop the service first. All or nothing is copied, and every row is compared. From then on the old lanes are held, so that nothing is sent twice',
    )
    .option('--from <url>', 'the installation that is stopped, as sqlite:PATH; else the one in the data folder')
    .option(
      '--to <url>',
      'the empty database, as postgres://…; else what NUNCIO_DATABASE_URL says, which keeps its password from others who list processes',
    )
    .withJson('[{table, rows, sha256}]')
    .withExamples(
      `NUNCIO_DATABASE_URL=postgres://nuncio:secret@db.example/nuncio ${commandLine`copy`}`,
      commandLine`copy --from sqlite:/var/lib/nuncio/nuncio.db --to postgres://nuncio@db.example/nuncio`,
    )
    .action(async (options: CopyOptions) => {
      const settings = cli.settings(options.to === undefined ? {} : { NUNCIO_DATABASE_URL: options.to })
      const { database } = settings
      if (database.engine !== 'postgres')
        throw new Refusal(
          'argument_invalid',
          'Say with --to where the empty database is: postgres://USER@HOST/DATABASE',
        )
      const from = parseFrom(options.from, settings)
      const { counts, held } = await cli.surroundings.copy({
        from,
        to: database,
        settings,
        onProgress: printProgress(cli),
        now: cli.surroundings.now,
      })
      if (held) cli.warn(heldText(held))
      if (options.json) return cli.json(counts)
      await printResult(cli, counts, {
        from: describeDatabase(from),
        to: describeDatabase(database),
        keyRing: settings.keyRingFile,
      })
    })
}

function parseFrom(text: string | undefined, { dataDir }: Settings): Extract<DatabaseChoice, { engine: 'sqlite' }> {
  const parsed = databaseUrl.parse(text ?? `sqlite:${dataDir}/nuncio.db`)
  if ('value' in parsed && parsed.value?.engine === 'sqlite') return parsed.value
  throw new Refusal('argument_invalid', 'Say with --from what is copied: sqlite:PATH')
}

/** On stderr, so that what a program reads stays clean. */
function printProgress(cli: Cli): (progress: CopyProgress) => void {
  const { err, now } = cli.surroundings
  let reportedAt = now()
  return ({ doing, table, rows, of }) => {
    if (now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = now()
    err(`nuncio: ${doing} ${table}: ${rows} of ${of}\n`)
  }
}

function heldText({ reason, isOfCopy }: CopiedHold): string {
  const next = isOfCopy
    ? `If that copy was never served, let the lanes move with ${commandLine`hold --release`}. If it was`
    : `Before you let the lanes move with ${commandLine`hold --release`}`
  return `The lanes are held in the new database, too: ${reason}. ${next}, check what was sent, and take that out: ${commandLine`message list --state QUEUED`}`
}

async function printResult(
  cli: Cli,
  counts: readonly CopiedCount[],
  { from, to, keyRing }: { readonly from: string; readonly to: string; readonly keyRing: string },
): Promise<void> {
  await cli.table({
    columns: ['TABLE', 'ROWS', 'CHECKSUM'],
    rows: counts.map(({ table, rows, sha256 }) => [table, String(rows), sha256.slice(0, SHOWN_OF_CHECKSUM)]),
    whenEmpty: 'Nothing was copied.',
  })
  await cli.say(`
Copied from ${from} to ${to}; every row was compared.

Serve with NUNCIO_DATABASE_URL from now on. Attachments that were fetched already are used by processes with the same
data folder, others fetch them again. In the old database all lanes are held: should you want to go back to it, release
them there with ${commandLine`hold --release`}, but never while the new one is served.

Secrets were copied as they are sealed, so the key ring ${keyRing} goes with it: every machine that serves the
new database needs it.`)
}
