import { setTimeout as sleep } from 'node:timers/promises'
import { commandLine } from '../../core/command-line.ts'
import type { ConnectionView } from '../../core/ports/administration.ts'
import type { SessionRequestView } from '../../core/ports/console/device-sessions.ts'
import { placeOfCode, type SessionRequestKind } from '../../core/ports/session-requests.ts'
import { Refusal } from '../../core/refusals.ts'
import { explainRequestEnd } from '../../core/sentences/explain-session.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import { ACTOR, type Cli } from '../cli.ts'
import { linkedConnection } from '../format/device-session.ts'
import { sessionRequestJson } from '../format/json-shapes.ts'
import type { CommonOptions, NuncioCommand } from '../nuncio-command.ts'
import { ACCOUNT_OPTION, withConnection } from '../parse/connection-argument.ts'

// A new code is shown almost at once.
const ASKED_EVERY_MS = 500
// A worker that runs takes a request up within a second or two.
const TAKEN_UP_WITHIN_MS = 10_000

// The code is drawn in light blocks on dark. On a light terminal it would be inverted, which few cameras can read.
const lightOnDark = (line: string) => `\u001B[97;40m${line}\u001B[0m`
const LINE_ABOVE_CLEARED = '\u001B[1A\u001B[2K'

type PairOptions = CommonOptions & { readonly code?: boolean }

interface Asked {
  readonly number: string
  readonly kind: SessionRequestKind
  readonly options: CommonOptions
}

/** Commands about the phone that a number is linked to. */
export function addConnectionPhoneCommands(group: NuncioCommand, cli: Cli): void {
  addPair(group, cli)
  addUnlink(group, cli)
  addUseHere(group, cli)
}

function addPair(group: NuncioCommand, cli: Cli): void {
  group
    .command('pair')
    .description('link a number to its phone, with a QR code that the phone scans; the number may be linked already')
    .argument('<number>', 'the number of the connection')
    .option('--code', 'show a code that is typed into the phone instead')
    .withAccount(ACCOUNT_OPTION)
    .withJson('each step, one object in a line: {state, code, shown, end, detail, sentence}')
    .withExamples(commandLine`connection pair 15550001003`, commandLine`connection pair 15550001003 --code`)
    .action((number: string, options: PairOptions) =>
      carryOut(cli, { number, kind: options.code ? 'code' : 'qr', options }),
    )
}

function addUnlink(group: NuncioCommand, cli: Cli): void {
  group
    .command('unlink')
    .description('unlink a number from its phone; what is accepted for it waits')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('each step, one object in a line: {state, code, shown, end, detail, sentence}')
    .withExamples(commandLine`connection unlink 15550001003`)
    .action((number: string, options: CommonOptions) => carryOut(cli, { number, kind: 'unlink', options }))
}

function addUseHere(group: NuncioCommand, cli: Cli): void {
  group
    .command('use-here')
    .description('log a linked number in again at once, also when it was opened elsewhere or WhatsApp had banned it')
    .argument('<number>', 'the number of the connection')
    .withAccount(ACCOUNT_OPTION)
    .withJson('each step, one object in a line: {state, code, shown, end, detail, sentence}')
    .withExamples(commandLine`connection use-here 15550001003`)
    .action((number: string, options: CommonOptions) => carryOut(cli, { number, kind: 'use-here', options }))
}

async function carryOut(cli: Cli, { number, kind, options }: Asked): Promise<void> {
  await withConnection(cli, { number, options }, async (session, connection) => {
    linkedConnection(session, connection)
    await session.connectionService.requireInstalled(connection.channel)
    // Refuses without the right key ring, before anything is asked for.
    const secrets = await session.openSecrets()
    const { deviceSessions } = session
    const { accountId, id } = connection
    const of = { accountId, id }
    const first = await deviceSessions.request(of, kind, ACTOR)
    const codeOf = ({ code }: SessionRequestView) => code && secrets.open(code, placeOfCode(of, first.id))
    const printer = options.json ? new JsonPrinter(cli, connection) : new PagePrinter(cli, session, connection)
    const end = () => void deviceSessions.cancel(of, first.id, ACTOR).catch(() => {})
    const stopListening = cli.surroundings.onInterrupt(end)
    try {
      await follow(cli, {
        watch: async () => {
          const view = await deviceSessions.watch(of, first.id)
          return { view, code: codeOf(view) }
        },
        printer,
      })
    } finally {
      stopListening()
    }
  })
}

interface Seen {
  readonly view: SessionRequestView
  /** The code to show to the phone or to type into it; null: none. */
  readonly code: string | null
}

interface Printer {
  /** It has changed. */
  print(seen: Seen): Promise<void>
  /** It is the same, but time has passed. */
  countDown?(seen: Seen): Promise<void>
}

interface Followed {
  readonly watch: () => Promise<Seen>
  readonly printer: Printer
}

async function follow(cli: Cli, { watch, printer }: Followed): Promise<void> {
  const { now } = cli.surroundings
  const begunAt = now()
  let last = ''
  for (;;) {
    const seen = await watch()
    const { progress, hasWorker } = seen.view
    if (progress.state === 'waiting' && !hasWorker && now() - begunAt > TAKEN_UP_WITHIN_MS)
      throw new Refusal(
        'no_worker',
        `No worker runs that could do this. Start Nuncio, then try again: ${commandLine`serve`}`,
      )
    const text = JSON.stringify([progress, seen.code])
    if (text === last) await printer.countDown?.(seen)
    else await printer.print(seen)
    last = text
    if (progress.state === 'ended') {
      if (progress.end !== 'done') cli.exitCode = 1
      return
    }
    await sleep(ASKED_EVERY_MS)
  }
}

class JsonPrinter implements Printer {
  readonly #cli: Cli
  readonly #connection: ConnectionView

  constructor(cli: Cli, connection: ConnectionView) {
    this.#cli = cli
    this.#connection = connection
  }

  print({ view, code }: Seen): Promise<void> {
    return this.#cli.json(sessionRequestJson(view, { connection: this.#connection, code }))
  }
}

/** For people: the code as something that a phone can scan, and each step in a sentence. */
class PagePrinter implements Printer {
  readonly #cli: Cli
  readonly #session: AdministrationSession
  readonly #connection: ConnectionView
  /** How long the code is valid, as it was last printed. */
  #valid = ''

  constructor(cli: Cli, session: AdministrationSession, connection: ConnectionView) {
    this.#cli = cli
    this.#session = session
    this.#connection = connection
  }

  async print({ view, code }: Seen): Promise<void> {
    const { number, channel, waiting } = this.#connection
    const { progress, kind } = view
    switch (progress.state) {
      case 'waiting':
        return
      case 'connecting':
        return this.#cli.say('Connecting to WhatsApp…')
      case 'showing':
        if (code === null || !progress.shown) return
        if (progress.shown.number === 1) await this.#cli.say(stepsText(number, kind))
        await this.#showCode(code, { kind, channel })
        this.#valid = validText(progress.shown, this.#cli.surroundings.now())
        return this.#cli.say(this.#valid)
      case 'confirmed':
        return this.#cli.say('The phone has confirmed it. Linking…')
      case 'logging-in':
        return this.#cli.say('Logging in…')
      case 'ended': {
        const { sentence, nextStep, command } = explainRequestEnd({ number, kind, hasWaiting: waiting > 0 }, progress)
        const next = [nextStep, command].filter((part) => part !== null).join(' → ')
        return this.#cli.say([sentence, ...(next === '' ? [] : [next])].join('\n'))
      }
    }
  }

  /** Where a person reads along: the last line is written anew. */
  async countDown({ view: { progress }, code }: Seen): Promise<void> {
    const { isTerminal, now, out } = this.#cli.surroundings
    if (!isTerminal || progress.state !== 'showing' || code === null || !progress.shown) return
    const valid = validText(progress.shown, now())
    if (valid === this.#valid) return
    this.#valid = valid
    await out(`${LINE_ABOVE_CLEARED}${valid}\n`)
  }

  async #showCode(code: string, { kind, channel }: { kind: SessionRequestKind; channel: string }): Promise<void> {
    if (kind === 'code') return this.#cli.say(`\n    ${code.slice(0, 4)}-${code.slice(4)}\n`)
    const { out, isTerminal } = this.#cli.surroundings
    const drawn = await this.#session.drawQr(channel, code)
    await out(isTerminal ? drawn.replaceAll(/^.+$/gm, (line) => lightOnDark(line)) : drawn)
  }
}

function stepsText(number: string, kind: SessionRequestKind): string {
  const last =
    kind === 'code'
      ? 'Tap “Link a device”, then “Link with phone number instead”, and type this code:'
      : 'Tap “Link a device”, and point the camera at this code:'
  return [
    `On the phone with the number ${number}:`,
    '1. Open WhatsApp.',
    '2. iPhone: Settings, then Linked devices. Android: ⋮ at the top right, then Linked devices.',
    `3. ${last}`,
  ].join('\n')
}

function validText({ number, of, until }: { number: number; of: number; until: number }, now: number): string {
  const seconds = Math.max(0, Math.round((until - now) / 1_000))
  if (number < of) return `Code ${number} of ${of}. The next one is shown in ${seconds} s. End with Ctrl+C.`
  return `It is valid for ${seconds} s. End with Ctrl+C.`
}
