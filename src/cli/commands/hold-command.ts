import { Option } from 'commander'
import { commandLine } from '../../core/command-line.ts'
import { isCopiedHold } from '../../core/copied-hold.ts'
import type { HoldView } from '../../core/ports/administration.ts'
import { readOneLine } from '../../core/read-one-line.ts'
import { isoTime, plainTime, relativeTime } from '../../format/instants.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { printable } from '../format/printable.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'

type HoldOptions = CommonOptions & { readonly because?: string; readonly release?: boolean }

export function addHoldCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('hold')
    .description(
      'show whether all lanes are held, hold them, or release them: while they are held, messages are accepted, and no attempt begins. They are held by themselves when the database is found older than it had been',
    )
    .addOption(
      new Option('--because <why>', 'hold all lanes, such as before you start on a restored backup').conflicts(
        'release',
      ),
    )
    .option('--release', 'let all lanes move again: what was sent but is not known of any more will be sent again')
    .withJson('{held, since, reason}')
    .withExamples(
      commandLine`hold`,
      commandLine`hold --because 'restored the backup of Monday'`,
      commandLine`hold --release`,
    )
    .action((options: HoldOptions) =>
      cli.withAdministration(async ({ administration }) => {
        if (options.release) {
          const released = await administration.releaseHold(ACTOR)
          if (options.json) return cli.json({ held: false, since: isoTime(released.since), reason: released.reason })
          return cli.say(
            'The lanes are released: while a service runs, those that wait for nothing else move again at once.',
          )
        }
        const hold =
          options.because === undefined
            ? await administration.readHold()
            : await administration.holdLanes(readOneLine(options.because, { what: 'The reason', most: 500 }), ACTOR)
        if (options.json)
          return cli.json({ held: hold !== null, since: isoTime(hold?.since ?? null), reason: hold?.reason ?? null })
        await cli.say(hold ? holdText(hold, cli.surroundings.now()) : 'The lanes are not held.')
      }),
    )
}

/** Also for `nuncio attention`. */
export function holdText({ since, reason }: HoldView, now: number): string {
  const step = isCopiedHold(reason)
    ? 'Only one of the two may send. If the other never will: '
    : 'Check what was sent, cancel what must not go out again, then: '
  return `All lanes are held: ${printable(reason)} (${relativeTime(since, now)}, at ${plainTime(since)}). No attempt begins until they are released; one that had begun is brought to its end. New messages are accepted and wait. ${step}${commandLine`hold --release`}`
}
