import { commandLine } from '../../core/command-line.ts'
import { addTakenOut, NONE_TAKEN_OUT, type TakenOut } from '../../core/message/taken-out.ts'
import type { OfConnection } from '../../core/ports/console/lanes.ts'
import { Refusal } from '../../core/refusals.ts'
import { counted } from '../../format/counted.ts'
import { parseDurationMs } from '../../format/durations.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { erasureText } from '../format/erasure-text.ts'
import { connectionJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { ACCOUNT_OPTION, withConnection } from '../parse/connection-argument.ts'

type ConfirmOptions = CommonOptions & { readonly cancelOlderThan?: string }

export function addConnectionBacklogCommand(group: NuncioCommand, cli: Cli): void {
  group
    .command('approve-backlog')
    .description('let a backlog drain that waits for a person, because its lane stood still for long')
    .argument('<number>', 'the number of the connection')
    .option('--cancel-older-than <time>', 'first cancel what was accepted longer ago than this, such as 6h')
    .withAccount(ACCOUNT_OPTION)
    .withJson('the connection, and how many messages were cancelled or became unconfirmed')
    .withExamples(
      commandLine`connection approve-backlog 15550001000`,
      commandLine`connection approve-backlog 15550001000 --cancel-older-than 6h`,
    )
    .action(async (number: string, options: ConfirmOptions) => {
      const olderMs = parseAge(options.cancelOlderThan)
      await withConnection(cli, { number, options }, async (session, { accountId, id, reason }) => {
        // Checked first, so that nothing is cancelled when no backlog waits for approval.
        if (reason !== 'backlog_confirmation')
          throw new Refusal('lane_not_waiting', 'No backlog of this connection waits for a confirmation.')
        const of = { accountId, id }
        const taken =
          olderMs === null ? NONE_TAKEN_OUT : await cancelBefore(session, of, cli.surroundings.now() - olderMs)
        const isAny = taken.cancelled + taken.unconfirmed > 0
        await confirm(session, of, isAny)
        const connection = await session.administration.findConnection(number, accountId)
        if (options.json) return cli.json({ ...connectionJson(connection), ...taken })
        const first = isAny ? `${erasureText(taken)}\n` : ''
        const waiting = counted(connection.waiting, 'message that waits', 'messages that wait')
        await cli.say(`${first}Confirmed: ${waiting} on ${number} may go out now.`)
      })
    })
}

/** If nothing old is left, the lane may have gone on by itself in the meantime, which was the aim. */
async function confirm({ lanes }: AdministrationSession, of: OfConnection, isAnyTaken: boolean): Promise<void> {
  try {
    await lanes.confirmBacklog(of, ACTOR)
  } catch (error) {
    if (!(isAnyTaken && error instanceof Refusal && error.code === 'lane_not_waiting')) throw error
  }
}

async function cancelBefore({ lanes }: AdministrationSession, of: OfConnection, before: number): Promise<TakenOut> {
  let taken = NONE_TAKEN_OUT
  let upTo = await lanes.findLastBefore(of, before)
  while (upTo !== null) {
    const part = await lanes.cancelWaiting(of, upTo, ACTOR)
    taken = addTakenOut(taken, part)
    upTo = part.upTo
  }
  return taken
}

function parseAge(text: string | undefined): number | null {
  if (text === undefined) return null
  const ms = parseDurationMs(text)
  if (ms !== null && ms > 0) return ms
  throw new Refusal(
    'argument_invalid',
    `--cancel-older-than must be a time such as 30m or 6h, and “${text}” is not.`,
    '--cancel-older-than',
  )
}
