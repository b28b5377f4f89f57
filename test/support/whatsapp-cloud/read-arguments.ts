import { parseArgs } from 'node:util'

export interface SimulatorArguments {
  readonly port: number
  readonly numbers: readonly string[]
  readonly callbackUrl: string | null
  readonly callbackDelayMs: number
  readonly isHelpWanted: boolean
}

/** Wrong use of the command, explained in one sentence. */
export class WrongUse extends Error {}

const LONGEST_DELAY_MS = 3_600_000
const LAST_PORT = 65_535

/** Parses the command line of the simulator. Throws `WrongUse` for invalid arguments. */
export function readArguments(given: readonly string[], usualNumber: string): SimulatorArguments {
  const values = parse(given)
  return {
    port: readPort(values.port),
    numbers: readNumbers(values.number ?? [usualNumber]),
    callbackUrl: values['callback-url'] === undefined ? null : readUrl(values['callback-url']),
    callbackDelayMs: readWhole('--callback-delay', values['callback-delay'], LONGEST_DELAY_MS),
    isHelpWanted: values.help,
  }
}

export function readPort(text: string): number {
  return readWhole('--port', text, LAST_PORT)
}

function parse(given: readonly string[]) {
  try {
    return parseArgs({
      args: [...given],
      options: {
        port: { type: 'string', default: '4010' },
        number: { type: 'string', multiple: true },
        'callback-url': { type: 'string' },
        'callback-delay': { type: 'string', default: '800' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw wrongOption(error)
  }
}

/** The message of `parseArgs`, without the advice for programmers that Node adds after the first sentence. */
export function wrongOption(error: unknown): WrongUse {
  const [sentence] = error instanceof Error ? error.message.split('. ') : ['']
  return new WrongUse(`${sentence}. --help lists the options.`)
}

function readWhole(option: string, text: string, most: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text)
  throw new WrongUse(`${option} must be a whole number from 0 to ${most}, and “${text}” is not.`)
}

function readNumbers(texts: readonly string[]): readonly string[] {
  const numbers = texts.map((text) => text.replace(/^\+/, ''))
  const wrong = texts.find((_, place) => !/^[1-9]\d{6,14}$/.test(numbers[place] ?? ''))
  if (wrong !== undefined)
    throw new WrongUse(
      `--number must be 7 to 15 digits with the country code, such as ${EXAMPLE}, and “${wrong}” is not.`,
    )
  const twice = numbers.find((number, place) => numbers.indexOf(number) !== place)
  if (twice !== undefined) throw new WrongUse(`--number ${twice} is given twice.`)
  return numbers
}

const EXAMPLE = '15550003000'

function readUrl(text: string): string {
  if (/^https?:\/\/\S+$/.test(text) && URL.canParse(text)) return text
  throw new WrongUse(`--callback-url must be an address that begins with http:// or https://, and “${text}” is not.`)
}
