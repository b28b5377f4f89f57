import { commandLine } from '../../core/command-line.ts'
import { counted } from '../../format/counted.ts'
import { plainTime } from '../../format/instants.ts'
import type { Restored } from '../../operations/backup/restore-request.ts'
import type { Cli } from '../cli.ts'
import { createProgressLine } from '../format/progress.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

// More than a person reads. --json has them all.
const SHOWN = 20

type RestoreOptions = CommonOptions & { readonly replace?: boolean; readonly withoutSecrets?: boolean }

export function addRestoreCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('restore')
    .description(
      `bring a backup back; stop the service first. All lanes are held afterwards: nothing is sent before a person has checked and runs ${commandLine`hold --release`}`,
    )
    .argument('<backup>', `the folder that ${commandLine`backup`} made`)
    .option('--replace', 'move the database that is there aside, where it is kept, instead of refusing')
    .option(
      '--without-secrets',
      'when the key ring is lost for good: secrets of connections and second factors must be set anew',
    )
    .withJson('{takenAt, aside, livedUntil, acceptedSince, endedSince: [message id], hold: {reason}}')
    .withExamples(
      commandLine`restore /var/backups/nuncio/nuncio-2026-11-22T001205Z`,
      commandLine`restore /var/backups/nuncio/nuncio-2026-11-22T001205Z --replace`,
    )
    .action(async (from: string, options: RestoreOptions) => {
      const { restoreBackup, now } = cli.surroundings
      const restored = await restoreBackup({
        settings: cli.settings(),
        from,
        replace: options.replace ?? false,
        withoutSecrets: options.withoutSecrets ?? false,
        onProgress: createProgressLine(cli),
        now,
      })
      if (options.json) return cli.json(restoredJson(restored))
      await cli.say(inText(restored))
    })
}

function restoredJson({ manifest, aside, since, livedUntil, reason }: Restored) {
  return {
    takenAt: manifest.takenAt,
    aside,
    livedUntil: livedUntil === null ? null : new Date(livedUntil).toISOString(),
    acceptedSince: since?.accepted ?? null,
    endedSince: since?.ended ?? null,
    hold: { reason },
  }
}

function inText(restored: Restored): string {
  const { manifest, aside } = restored
  const { messages, waiting } = manifest.counts
  return [
    `Restored the backup of ${plainTime(Date.parse(manifest.takenAt))}: ${counted(messages, 'message')}, ${waiting} of which ${waiting === 1 ? 'waits' : 'wait'}.`,
    ...(aside === null ? [] : [`What was there is kept in ${aside}; remove it when you are through.`]),
    'All lanes are held: messages are accepted, and nothing is sent.',
    '',
    ...sinceText(restored),
    '',
    'Next: start the service, check what waits, take out what was sent already, and let the lanes move:',
    `  ${commandLine`message list --state QUEUED`}`,
    `  ${commandLine`message cancel ID`}`,
    `  ${commandLine`hold --release`}`,
    '',
    'Tokens that were deleted after the backup are valid again: delete them again. Recipients who were blocked or erased',
    'after it no longer are: do that again before the lanes move. Idempotency keys used after it are forgotten. People',
    'sign in anew.',
  ].join('\n')
}

function sinceText({ since, livedUntil }: Restored): readonly string[] {
  if (since) {
    const { accepted, ended } = since
    const rest = ended.length > SHOWN ? [`  … and ${ended.length - SHOWN} more: they are in --json`] : []
    return [
      accepted === 0
        ? 'Nothing was accepted since.'
        : `${counted(accepted, 'message that was', 'messages that were')} accepted since ${accepted === 1 ? 'is' : 'are'} not in it.`,
      ended.length === 0
        ? 'Nothing that waits in it was sent since.'
        : `${counted(ended.length, 'message that waits', 'messages that wait')} in it ${ended.length === 1 ? 'was' : 'were'} sent or came to an end since. Released, ${ended.length === 1 ? 'it' : 'they'} would be sent again:`,
      ...ended.slice(0, SHOWN).map((id) => `  ${id}`),
      ...rest,
    ]
  }
  return [
    livedUntil === null
      ? 'It is unknown what was accepted and sent after the backup was made.'
      : `A service used the database until ${plainTime(livedUntil)}. It is unknown what it accepted and sent after the backup was made.`,
  ]
}
