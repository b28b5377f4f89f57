import { baseUrl } from '../../config/setting-kinds.ts'
import { commandLine } from '../../core/command-line.ts'
import { MEDIA_TYPES, type MediaType } from '../../core/message/message.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Cli } from '../cli.ts'
import { printable } from '../format/printable.ts'
import type { NuncioCommand } from '../nuncio-command.ts'
import { callEndpoint, type EndpointReply } from './call-endpoint.ts'

interface SendOptions extends Partial<Record<MediaType, string>> {
  readonly from: string
  readonly to: string
  readonly text?: string
  readonly name?: string
  readonly caption?: string
  readonly token?: string
  readonly idempotencyKey?: string
  readonly url?: string
  readonly json?: boolean
}

const REPLY_SHOWN = 500

export function addSendCommand(program: NuncioCommand, cli: Cli): void {
  program
    .command('send')
    .description('send a message through the endpoint of a running service, as any caller does')
    .requiredOption('--from <number>', 'the sender: a connection of the token’s account')
    .requiredOption('--to <number>', 'the recipient')
    .option('--text <text>', 'send this text')
    .option('--image <url>', 'send the image at this address')
    .option('--document <url>', 'send the document at this address')
    .option('--video <url>', 'send the video at this address')
    .option('--audio <url>', 'send the audio file at this address')
    .option('--name <file name>', 'the file name the recipient sees; without this, the one in the address')
    .option('--caption <text>', 'text shown beneath the media')
    .option('--token <token>', 'the API token; without this, NUNCIO_TOKEN, which others on this machine cannot see')
    .option('--idempotency-key <key>', 'a key under which a repeat sends nothing twice')
    .option(
      '--url <base url>',
      'where the service is; without this, NUNCIO_PUBLIC_URL or NUNCIO_PORT says it, as for the service',
    )
    .withJson('{status, requestId, messageId, reply}')
    .withExamples(
      commandLine`send --from 15550001000 --to 15550100000 --text Hello`,
      commandLine`send --from 15550001000 --to 15550100000 --image https://example.com/cat.jpg --caption "Our cat"`,
    )
    .action((options: SendOptions) => send(cli, options))
}

async function send(cli: Cli, options: SendOptions): Promise<void> {
  const { from, to, idempotencyKey = null } = options
  const body = { from, to, message: toMessage(options) }
  const settings = cli.settings()
  const token = options.token ?? settings.token
  if (!token) {
    const sentence = `There is no token. Give one with --token or in NUNCIO_TOKEN; make one with: ${commandLine`token create`}`
    throw new Refusal('argument_invalid', sentence, '--token')
  }
  const baseUrl = parseBaseUrl(options.url) ?? settings.publicUrl
  const reply = await callEndpoint(cli.surroundings, { baseUrl, token, idempotencyKey, body })
  if (reply.status !== 200) cli.exitCode = 1
  await (options.json ? cli.json(reply) : printResult(cli, reply))
}

function toMessage(options: SendOptions): unknown {
  const [type, ...others] = (['text', ...MEDIA_TYPES] as const).filter((name) => options[name] !== undefined)
  if (type === undefined || others.length > 0) {
    const sentence = 'Say what to send with exactly one of --text, --image, --document, --video and --audio.'
    throw new Refusal('argument_invalid', sentence)
  }
  const { name, caption } = options
  if (type !== 'text') {
    const url = options[type] ?? ''
    return { type, media: { name: name ?? nameIn(url), url, ...(caption === undefined ? {} : { caption }) } }
  }
  if (name !== undefined || caption !== undefined) {
    throw new Refusal('argument_invalid', '--name and --caption belong to media, and a text has none.')
  }
  return { type: 'message', message: options.text }
}

function nameIn(url: string): string {
  const path = URL.canParse(url) ? new URL(url).pathname : ''
  const last = path.slice(path.lastIndexOf('/') + 1)
  if (!/[^.]\.[^.]+$/.test(last)) {
    const sentence = 'The address holds no file name with an extension: give one with --name.'
    throw new Refusal('argument_invalid', sentence, '--name')
  }
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

function parseBaseUrl(given: string | undefined): string | null {
  if (given === undefined) return null
  const parsed = baseUrl.parse(given)
  if ('value' in parsed) return parsed.value
  throw new Refusal('argument_invalid', `--url is wrong: ${parsed.wrong}`, '--url')
}

async function printResult(cli: Cli, answer: EndpointReply): Promise<void> {
  const { status, messageId, reply } = answer
  const text = typeof reply === 'string' ? printable(reply.slice(0, REPLY_SHOWN)) : JSON.stringify(reply)
  if (status !== 200) {
    for (const sentence of refusalSentences(answer)) cli.surroundings.err(`nuncio: ${printable(sentence)}\n`)
    return cli.say(text)
  }
  await cli.say(text)
  if (messageId === null) return cli.say('There is no message id: something else than Nuncio seems to have answered.')
  await cli.say(
    `Accepted as the message ${messageId}. What becomes of it: ${commandLine`message explain ${messageId}`}`,
  )
}

function refusalSentences({ status, reply }: EndpointReply): readonly string[] {
  const { data, message } = (reply ?? {}) as { data?: { errors?: unknown }; message?: unknown }
  const errors = Array.isArray(data?.errors) ? (data.errors as Record<string, unknown>[]) : []
  if (errors.length === 0)
    return [`The service answered ${status}${typeof message === 'string' ? `: ${message}` : '.'}`]
  return errors.map(({ field, code, message: sentence }) => {
    const where = typeof field === 'string' ? `${field}: ` : ''
    return `${where}${textOf(sentence)} (${textOf(code)})`
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
