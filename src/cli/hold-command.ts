import { ACTOR, type Cli } from './cli.ts'
import type { CommonOptions, NuncioCommand } from './nuncio-command.ts'
import { isoTime, relativeTime } from './print/times.ts'

export function addHoldCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('hold')
    .description(
      'show whether all lanes are held, because the database was found older than it had been; --release lets them move',
    )
    .option('--release', 'let all lanes move again: what was sent but is not known of any more will be sent again')
    .withJson('{held, since, reason}')
    .withExamples('nuncio hold', 'nuncio hold --release')
    .action((options: CommonOptions & { readonly release?: boolean }) =>
      cli.withAdministration(async ({ administration }) => {
        if (options.release) {
          const released = await administration.releaseHold(ACTOR)
          if (options.json) return cli.json({ held: false, since: isoTime(released.since), reason: released.reason })
          return cli.say('The lanes are released: they move again at once.')
        }
        const hold = await administration.readHold()
        if (options.json)
          return cli.json({ held: hold !== null, since: isoTime(hold?.since ?? null), reason: hold?.reason ?? null })
        if (!hold) return cli.say('The lanes are not held.')
        await cli.say(
          `All lanes are held since ${relativeTime(hold.since, cli.surroundings.now())}: ${hold.reason}. New messages are accepted and wait. When you have looked at what was sent: nuncio hold --release`,
        )
      }),
    )
}
