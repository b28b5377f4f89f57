import { Option } from 'commander'
import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { bytesText } from '../../format/bytes.ts'
import { counted } from '../../format/counted.ts'
import type { TakenBackup } from '../../operations/backup/take-backup.ts'
import type { Cli } from '../cli.ts'
import { createProgressLine } from '../format/progress.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

type BackupOptions = CommonOptions & { readonly withMedia?: boolean; readonly keep?: string }

export function addBackupCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('backup')
    .description(
      'back the database up, beside a running service, into a folder of its own that names the moment; on PostgreSQL with pg_dump. The key ring is never in it: keep a copy of that apart',
    )
    .argument('[folder]', 'where backups are kept', './backups')
    .option('--with-media', 'take fetched attachments along; without them they are fetched again from their URLs')
    .addOption(
      new Option('--keep <count>', 'then remove older backups of this installation from the folder, but for so many'),
    )
    .withJson('{path, engine, takenAt, tookMs, bytes, counts, keyId, keyRing, removed}')
    .withExamples(
      commandLine`backup /var/backups/nuncio`,
      commandLine`backup /var/backups/nuncio --keep 14 --with-media`,
    )
    .action(async (folder: string, options: BackupOptions) => {
      const keep = parseKeep(options.keep)
      const settings = cli.settings()
      const { takeBackup, now } = cli.surroundings
      const onProgress = createProgressLine(cli)
      const withMedia = options.withMedia ?? false
      const taken = await takeBackup({ settings, folder, withMedia, keep, onProgress, now })
      if (taken.fromFuture.length > 0) cli.warn(futureText(taken.fromFuture))
      if (options.json) return cli.json(backupJson(taken, settings.keyRingFile))
      await cli.say(inText(taken, settings.keyRingFile))
    })
}

function parseKeep(text: string | undefined): number | null {
  if (text === undefined) return null
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new Refusal('argument_invalid', 'Say with --keep how many backups stay, the new one among them: 1 or more.')
}

function futureText(paths: readonly string[]): string {
  return `By ${paths.length === 1 ? 'its name this backup lies' : 'their names these backups lie'} in the future: ${paths.join(', ')}. The clock of this machine is wrong, or was. With --keep they count as the newest: remove them when newer ones are there.`
}

function backupJson({ path, manifest, tookMs, removed }: TakenBackup, keyRing: string) {
  const { engine, takenAt, counts, keyId, files } = manifest
  return { path, engine, takenAt, tookMs, bytes: sizeOf(files), counts, keyId, keyRing, removed }
}

function inText({ path, manifest, tookMs, removed }: TakenBackup, keyRing: string): string {
  const { counts, keyId, files } = manifest
  const seconds = Math.max(1, Math.round(tookMs / 1_000))
  const lines = [
    `Backed up ${counted(counts.messages, 'message')} (${counts.waiting} of which ${counts.waiting === 1 ? 'waits' : 'wait'}), ${counted(counts.connections, 'connection')} and ${counted(counts.accounts, 'account')}: ${bytesText(sizeOf(files))} in ${seconds} s.`,
    path,
    ...removed.map((old) => `Removed ${old}`),
    '',
    keyId === null
      ? 'There are no secrets in it yet.'
      : `Secrets in it are sealed with the key ${keyId} of the key ring, which is not in it. Keep a copy of ${keyRing} apart from the backups: without it the secrets cannot be opened.`,
    `Check it now and then: ${commandLine`verify ${path}`}`,
  ]
  return lines.join('\n')
}

function sizeOf(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}
