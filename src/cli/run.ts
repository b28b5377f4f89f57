import { CommanderError } from 'commander'
import { Refusal, type RefusalCode } from '../core/refusals.ts'
import { refusalOfSystem } from '../core/system-errors.ts'
import { Cli } from './cli.ts'
import { type Environment, OutputClosed } from './environment.ts'
import { printable } from './format/printable.ts'
import { createProgram } from './program.ts'

const DONE = 0
const FAILED = 1
const USED_WRONGLY = 2

// What can be checked from the command line alone. Everything else depends on the database.
const WRONG_USE: readonly RefusalCode[] = ['argument_invalid', 'event_unknown', 'expiry_invalid', 'number_malformed']

/** Runs one call of the command line and returns its exit code. Never throws. */
export async function run(args: readonly string[], surroundings: Environment): Promise<number> {
  const cli = new Cli(surroundings)
  try {
    await createProgram(cli).parseAsync(args, { from: 'user' })
    return cli.exitCode
  } catch (error) {
    if (error instanceof OutputClosed) return DONE
    // Commander has said itself what is wrong, or shown the help it was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USED_WRONGLY
    return printError(error, surroundings)
  }
}

function printError(thrown: unknown, surroundings: Environment): number {
  const error = refusalOfSystem(thrown) ?? thrown
  if (error instanceof Refusal) {
    for (const sentence of error.message.split('\n'))
      surroundings.err(`nuncio: ${printable(sentence)} (${error.code})\n`)
    return WRONG_USE.includes(error.code) ? USED_WRONGLY : FAILED
  }
  const level = surroundings.readSettings().settings?.logLevel
  if (level === 'debug' || level === 'trace') {
    surroundings.err(`nuncio: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    return FAILED
  }
  const [words = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
  surroundings.err(
    `nuncio: Something went wrong that should not: ${printable(words)}. Details: set NUNCIO_LOG_LEVEL=debug and run it again.\n`,
  )
  return FAILED
}
