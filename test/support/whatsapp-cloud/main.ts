import { createInterface } from 'node:readline'
import { readArguments, type SimulatorArguments, WrongUse } from './read-arguments.ts'
import { FAILING_LATER, RECIPIENT_COMMANDS } from './recipient-commands.ts'
import { startSimulator } from './simulator.ts'
import type { CallbackTry, SeenRequest, SimulatedNumber, SimulatedTemplate, Simulator } from './simulator-types.ts'

const HELP = `Simulates the WhatsApp Business Cloud API on this machine, for trying Nuncio out without an account at Meta.

Usage: npm run simulate:whatsapp-cloud -- [options]

  --port <port>          Where it listens on loopback; 4010 by default, 0 for any.
  --number <number>      The sender number, digits with country code; 15550003000 by default. May be given several times.
  --callback-url <url>   Where to send callbacks: the address that Nuncio shows after the connection was added.
                         It may also be typed in while the simulator runs.
  --callback-delay <ms>  Time between sent, delivered and read; 800 by default.
  --help                 Prints this.

While it runs, these lines can be typed in:

  <url>                         Callbacks go there from now on.
  write <number> <text>         That person writes to the first sender number, which opens the 24 hours.
`

// Not the number that the service's own sandbox has from its first start.
const USUAL_NUMBER = '15550003000'

// The same in each run, so that a pasted value stays valid.
const BUSINESS_ACCOUNT = '102290129340398'
const APP_SECRET = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
const ACCESS_TOKEN = 'EAAsimulatedAccessTokenOfNoValue'
const VERIFY_TOKEN = 'simulated-verify-token'
const FIRST_ID = 106_540_352_242_922

const TEMPLATES: readonly SimulatedTemplate[] = [
  { name: 'notice', language: 'en_US', body: 'A message for you: {{1}}' },
  { name: 'picture', language: 'en_US', body: 'A picture for you: {{1}}', header: 'IMAGE' },
  { name: 'letter', language: 'en_US', body: 'A document for you.', header: 'DOCUMENT' },
  { name: 'film', language: 'en_US', body: 'A video for you: {{1}}', header: 'VIDEO' },
  { name: 'in_review', language: 'en_US', body: 'Not approved yet: {{1}}', status: 'PENDING' },
]

try {
  const wanted = readArguments(process.argv.slice(2), USUAL_NUMBER)
  if (wanted.isHelpWanted) process.stdout.write(HELP)
  else await simulate(wanted)
} catch (error) {
  if (!(error instanceof WrongUse)) throw error
  process.stderr.write(`simulate:whatsapp-cloud: ${error.message}\n`)
  process.exitCode = 2
}

async function simulate({
  port,
  numbers: wanted,
  callbackUrl,
  callbackDelayMs: delayMs,
}: SimulatorArguments): Promise<void> {
  const simulator = await start(port)
  const numbers = wanted.map((number, place) => describe(number, place))
  for (const number of numbers) simulator.addNumber(number)
  for (const template of TEMPLATES) simulator.addTemplate(BUSINESS_ACCOUNT, template)
  for (const { prepare, recipient } of RECIPIENT_COMMANDS) prepare(simulator, recipient)
  process.stdout.write(explain(simulator.url, numbers, callbackUrl))
  const callBack = (url: string) => startCallbacks(simulator, { url, delayMs, first: numbers[0] })
  const input = createInterface({ input: process.stdin })
  input.on('line', (line) => void obey(line.trim(), { simulator, callBack, first: numbers[0] }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      input.close()
      // Standard input may be a terminal, a pipe, or a file such as /dev/null, which has no `unref`.
      process.stdin.destroy()
      void simulator.close()
    })
  }
  if (callbackUrl) await callBack(callbackUrl)
}

async function start(port: number): Promise<Simulator> {
  try {
    return await startSimulator({ port, onRequest: printRequest, onCallback: printCallback })
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

function describe(number: string, place: number): SimulatedNumber {
  return {
    number,
    phoneNumberId: String(FIRST_ID + place),
    businessAccountId: BUSINESS_ACCOUNT,
    accessToken: ACCESS_TOKEN,
    appSecret: APP_SECRET,
    verifyToken: VERIFY_TOKEN,
  }
}

function explain(url: string, numbers: readonly SimulatedNumber[], callbackUrl: string | null): string {
  const recipients = RECIPIENT_COMMANDS.map(({ recipient, happens }) => `  ${recipient}  ${happens}`)
  const templates = TEMPLATES.map(({ name, language, body }) => `  ${`${name}:${language}`.padEnd(18)}  ${body}`)
  return `The simulated Cloud API listens at ${url}

Nuncio needs this setting (in .env, then start it):

NUNCIO_WHATSAPP_CLOUD_URL=${url}

and ${numbers.length > 1 ? 'these connections' : 'this connection'}:

${numbers.map(commandFor).join('\n\n')}

Templates of the business account:
${templates.join('\n')}

Recipients that are commands; every other one gets its message:
${recipients.join('\n')}

${callbackUrl === null ? 'Callbacks go nowhere yet. Type the callback address in that Nuncio shows for the connection, and press Enter.' : `Callbacks go to ${callbackUrl}`}

`
}

function commandFor({ number, phoneNumberId }: SimulatedNumber): string {
  const pairs = {
    phone_number_id: phoneNumberId,
    business_account_id: BUSINESS_ACCOUNT,
    access_token: ACCESS_TOKEN,
    app_secret: APP_SECRET,
    verify_token: VERIFY_TOKEN,
    template_text: 'notice:en_US',
    template_image: 'picture:en_US',
    template_document: 'letter:en_US',
    template_video: 'film:en_US',
  }
  const set = Object.entries(pairs).map(([name, value]) => `  --set ${name}=${value}`)
  return [`npm run -s nuncio -- connection add ${number} --channel whatsapp-cloud`, ...set].join(' \\\n')
}

interface Callbacks {
  readonly url: string
  readonly delayMs: number
  readonly first: SimulatedNumber | undefined
}

async function startCallbacks(simulator: Simulator, { url, delayMs, first }: Callbacks): Promise<void> {
  simulator.deliverCallbacks({ url, delayMs, failLater: FAILING_LATER })
  print(`callbacks: ${await challengeText(simulator, first?.phoneNumberId ?? '', url)}`)
}

async function challengeText(simulator: Simulator, phoneNumberId: string, url: string): Promise<string> {
  try {
    const { isRight, status } = await simulator.challenge(phoneNumberId, url)
    if (isRight) return 'the address gave the challenge back'
    const why =
      status === 403 ? ': the verify token is another one' : status === 404 ? ': nothing has this address' : ''
    return `the address did NOT give the challenge back, it answered ${status}${why}`
  } catch {
    return 'the address did NOT give the challenge back: it did not answer'
  }
}

interface Typing {
  readonly simulator: Simulator
  readonly callBack: (url: string) => Promise<void>
  readonly first: SimulatedNumber | undefined
}

async function obey(line: string, { simulator, callBack, first }: Typing): Promise<void> {
  const [, from, text] = /^write (\+?\d+) (.+)$/.exec(line) ?? []
  if (from && text && first) simulator.receive({ phoneNumberId: first.phoneNumberId, from, text })
  else if (/^https?:\/\/\S+$/.test(line)) await callBack(line)
  else if (line !== '') print('Type a callback address, or: write <number> <text>')
}

// Prints neither texts nor whole numbers: what is on a screen is soon on another one.
function printRequest({ method, path, kind, waId, status, code, fault, acted }: SeenRequest): void {
  const what = kind === 'other' ? `${method} ${path}` : `${kind}${waId === null ? '' : ` to …${waId.slice(-4)}`}`
  const ending = status === null ? 'no answer' : `${status}${code === null ? '' : ` (${code})`}`
  const why = fault === null ? '' : `, fault: ${fault}`
  print(`${what}: ${ending}${kind !== 'other' && acted ? ', taken' : ''}${why}`)
}

function printCallback({ status, tryNumber, body, tookMs }: CallbackTry): void {
  const kinds = [...body.matchAll(/"status":"(\w+)"/g)].map(([, kind]) => kind)
  const ending = status === null ? 'no answer' : `${status} after ${Math.round(tookMs)} ms`
  print(`callback ${kinds.join(' ') || 'of another kind'}: ${ending}${tryNumber > 1 ? `, try ${tryNumber}` : ''}`)
}

function print(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 23)}  ${line}\n`)
}
