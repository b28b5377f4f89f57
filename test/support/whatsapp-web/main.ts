import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readPort, WrongUse, wrongOption } from '../whatsapp-cloud/read-arguments.ts'
import { whyNoLibrary } from './library.ts'
import type { ReceivedFile } from './media-reader.ts'
import type { SentMessage } from './message-intake.ts'
import type { Phone } from './phone.ts'
import { Simulator } from './simulator.ts'

const HELP = `Simulates WhatsApp's server and phones on this machine, for trying the channel WhatsApp Web out without a phone.

Usage: npm run simulate:whatsapp-web -- [options]

  --port <port>   Where it listens on loopback; 4020 by default, 0 for any.
  --help          Prints this.

While it runs, these lines can be typed in:

  scan <number> <text>   The phone of this number scans the QR code with this text, which begins with https://.
  type <number> <code>   The phone of this number types the code that Nuncio shows for it.
  unlink <number>        The phone of this number unlinks all its devices.
  cut <number>           The line of this number breaks.
  lock <number>          This number may write to no new recipient for five minutes: they are refused with 463.
`

const LOCKED_MS = 300_000
const COMMANDS = 'scan <number> <text>, type <number> <code>, unlink <number>, cut <number>, or lock <number>'

interface RecipientCommand {
  readonly recipient: string
  /** What happens, in words for people. */
  readonly happens: string
  readonly prepare: (simulator: Simulator, recipient: string) => void
}

const RECIPIENT_COMMANDS: readonly RecipientCommand[] = [
  {
    recipient: '15550300001',
    happens: 'is not on WhatsApp',
    prepare: ({ unregistered }, to) => void unregistered.add(to),
  },
  {
    recipient: '15550300002',
    happens: 'is refused for now (429)',
    prepare: ({ messages }, to) => messages.failTo(to, { refuse: '429' }),
  },
  {
    recipient: '15550300003',
    happens: 'delivered, but the line breaks before the answer',
    prepare: ({ messages }, to) => messages.failTo(to, 'drop-after'),
  },
  {
    recipient: '15550300004',
    happens: 'not delivered, and the line breaks',
    prepare: ({ messages }, to) => messages.failTo(to, 'drop-before'),
  },
  {
    recipient: '15550300005',
    happens: 'takes 5 seconds',
    prepare: ({ messages }, to) => messages.failTo(to, { stall: () => setTimeout(5_000) }),
  },
  {
    recipient: '15550300006',
    happens: 'not delivered, and never answered',
    prepare: ({ messages }, to) => messages.failTo(to, 'lose-silently'),
  },
]

// libsignal prints whole sessions with their keys.
for (const method of ['log', 'info', 'warn', 'error'] as const) console[method] = () => {}

try {
  const { port, isHelpWanted } = readArguments(process.argv.slice(2))
  if (isHelpWanted) process.stdout.write(HELP)
  else await simulate(port)
} catch (error) {
  if (!(error instanceof WrongUse)) throw error
  process.stderr.write(`simulate:whatsapp-web: ${error.message}\n`)
  process.exitCode = 2
}

function readArguments(given: readonly string[]): { readonly port: number; readonly isHelpWanted: boolean } {
  try {
    const { values } = parseArgs({
      args: [...given],
      options: { port: { type: 'string', default: '4020' }, help: { type: 'boolean', default: false } },
    })
    return { port: readPort(values.port), isHelpWanted: values.help }
  } catch (error) {
    throw error instanceof WrongUse ? error : wrongOption(error)
  }
}

async function simulate(port: number): Promise<void> {
  const why = whyNoLibrary()
  if (why !== null) throw new WrongUse(`It needs the packages of the channel, and ${why}.`)
  const simulator = await start(port)
  simulator.isEveryoneRegistered = true
  for (const { prepare, recipient } of RECIPIENT_COMMANDS) prepare(simulator, recipient)
  simulator.messages.onSent = printMessage
  simulator.messages.onRead = printRead
  simulator.pairing.onMistyped = () => print('The phone says that the code is wrong. Type it again.')
  simulator.pairing.onFinish = ({ number }, device) => print(`${shortened(number)} has linked the device ${device}`)
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-simulator-'))
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, simulator.media.authority)
  process.stdout.write(explain(simulator, authority))
  const input = createInterface({ input: process.stdin })
  input.on('line', (line) => obey(line.trim(), simulator))
  const complaints = setInterval(() => {
    for (const complaint of simulator.takeComplaints()) print(`complaint: ${complaint}`)
  }, 200)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      clearInterval(complaints)
      input.close()
      // Standard input may be a terminal, a pipe, or a file such as /dev/null, which has no `unref`.
      process.stdin.destroy()
      rmSync(folder, { recursive: true, force: true })
      void simulator.close()
    })
  }
}

async function start(port: number): Promise<Simulator> {
  try {
    return await Simulator.start({ port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : null
    if (code === 'EADDRINUSE')
      throw new WrongUse(
        `Another program listens on port ${port} already. Give another one: -- --port <port>, or 0 for any.`,
      )
    if (code === 'EACCES') throw new WrongUse(`This user may not listen on port ${port}. Give one from 1024 on.`)
    throw error
  }
}

function explain({ url, rootKey }: Simulator, authority: string): string {
  const recipients = RECIPIENT_COMMANDS.map(({ recipient, happens }) => `  ${recipient}  ${happens}`)
  return `The simulated WhatsApp listens at ${url}

Nuncio needs this setting (in .env):

NUNCIO_WHATSAPP_WEB_URL="${url}#${rootKey.public.toString('base64url')}"

and to send files, Node needs this one when Nuncio is started (in the shell):

export NODE_EXTRA_CA_CERTS=${authority}

Both are new with each start of the simulator, and it forgets all linked devices when it ends.

Link a number: let Nuncio show its QR code or its code, and type in
  scan <number> <text of the QR code>   nuncio connection pair <number> --json prints it as "code"
  type <number> <code>                  nuncio connection pair <number> --code shows it, and so does the console

Recipients that are commands; every other one gets its message:
${recipients.join('\n')}

`
}

function obey(line: string, simulator: Simulator): void {
  const [, command, typed = '', rest = ''] = /^(scan|type|unlink|cut|lock) \+?(\d{7,15})(?: (\S+))?$/.exec(line) ?? []
  try {
    if (command === 'scan' && rest) simulator.pairing.scan(typed, rest)
    else if (command === 'type' && rest) simulator.pairing.typeCode(typed, rest.replaceAll('-', '').toUpperCase())
    else if (command === 'unlink') simulator.unlink(typed)
    else if (command === 'cut') cut(simulator, typed)
    else if (command === 'lock') simulator.messages.lockedUntil.set(typed, new Date(Date.now() + LOCKED_MS))
    else if (line !== '') print(`Type: ${COMMANDS}`)
  } catch (error) {
    print(error instanceof Error ? `${command}: ${error.message}` : String(error))
  }
}

function cut(simulator: Simulator, number: string): void {
  const line = simulator.lineOf(number)
  if (!line) throw new Error(`${number} is not logged in`)
  line.terminate()
}

// Prints neither texts nor whole numbers: what is on a screen is soon on another one.
function shortened(number: string): string {
  return `…${number.slice(-4)}`
}

function printMessage({ to, isTaken }: SentMessage): void {
  const [user = ''] = to.split('@')
  print(`message to ${shortened(user)}: ${isTaken ? 'taken' : 'not taken'}`)
}

function printRead({ number }: Phone, file: ReceivedFile | null): void {
  const what = file
    ? `${file.type}, ${file.bytes.length} bytes, SHA-256 ${createHash('sha256').update(file.bytes).digest('hex')}`
    : 'text'
  print(`${shortened(number)} has decrypted it: ${what}`)
}

function print(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 23)}  ${line}\n`)
}
