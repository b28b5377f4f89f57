import { Cli } from '../../../src/cli/cli.ts'
import { openEnvironment } from '../../../src/cli/environment.ts'
import { NuncioCommand } from '../../../src/cli/nuncio-command.ts'
import { createProgram } from '../../../src/cli/program.ts'

// Nothing is run here. Only the messages about wrong use are kept from the terminal.
const surroundings = { ...openEnvironment(''), err: () => {} }

/** The faults of a command line, found without running it. `isWhole` false: a sentence quotes only a part of the command. */
export function commandFaults(line: string, { isWhole = true } = {}): string[] {
  const [, ...words] = textOf(line)
  // Create it anew each time, because a command remembers the options of its last call.
  let command: NuncioCommand = createProgram(new Cli(surroundings))
  while (words[0]?.startsWith('-') === false && command.commands.length > 0) {
    const below = command.commands.find((candidate) => candidate.name() === words[0])
    if (!(below instanceof NuncioCommand)) return [`${line}: there is no command ${words[0]}`]
    command = below
    words.shift()
  }
  if (words.includes('--help')) return []
  try {
    const { operands, unknown } = command.parseOptions(words)
    const problem = problemWith(command, operands, unknown) ?? (isWhole ? findMissing(command, operands) : null)
    return problem === null ? [] : [`${line}: ${problem}`]
  } catch (error) {
    return [`${line}: ${String(error)}`]
  }
}

function problemWith(command: NuncioCommand, operands: readonly string[], unknown: readonly string[]): string | null {
  if (command.commands.length > 0) return 'it is only a group of commands'
  if (unknown.length > 0) return `there is no option ${unknown.join(' ')}`
  const args = command.registeredArguments
  return operands.length > args.length && !args.some(({ variadic }) => variadic) ? 'an argument too many' : null
}

function findMissing(command: NuncioCommand, operands: readonly string[]): string | null {
  const missing = command.options.find(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  )
  if (missing) return `${missing.flags} is missing`
  return operands.length < command.registeredArguments.filter(({ required }) => required).length
    ? 'an argument is missing'
    : null
}

/** Splits a line as a shell does, as far as our pages need it. */
function textOf(line: string): string[] {
  // The shell removes comments and reads the files.
  const withoutComment = line.replace(/\s#.*$/, '').replace(/ < \S+$/, '')
  return [...withoutComment.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  )
}
