import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { makeFiles, type OfferedFile } from './offered-files.ts'
import { type OpenConsole, openConsole } from './open-console.ts'
import { addPerson } from './person.ts'

/** A console with the data of a small shop: some messages were delivered, some failed, some wait. */
export interface ShownConsole extends OpenConsole {
  readonly connection: string
  readonly token: string
  /** The id of a message that failed, as in the URL of its page. */
  readonly request: string
  /** The id of a webhook. */
  readonly webhook: string
  /** The open chat, as in the URL of the sandbox. */
  readonly chat: string
}

const ORDERS = '15550001000'
const REMINDERS = '15550001010'
const NEWSLETTER = '15550001020'
const ANNA = '491701234501'
const ALLOWED = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8', NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' }
const SEND = ['--event', 'messaging.send_message']
// By then all that can be sent was sent, receipts have come, and the tallies have counted them.
const SETTLED_AFTER_MS = 15_000

export async function openBelievableConsole(): Promise<ShownConsole> {
  const opened = await openConsole({ environment: ALLOWED })
  const files = await offer(await makeFiles(opened.browser))
  try {
    const token = await prepare(opened)
    const webhook = await addWebhook(opened, files.url)
    const request = await sendAll(opened, { token: token.token, files: files.url })
    await wait(SETTLED_AFTER_MS)
    const connections = await opened.cli.json<{ id: string; number: string }[]>('connection', 'list')
    const connection = connections.find(({ number }) => number === REMINDERS)?.id ?? ''
    const orders = connections.find(({ number }) => number === ORDERS)?.id ?? ''
    const chat = `connection=${orders}&to=${ANNA}`
    return { ...opened, connection, token: token.id, request, webhook, chat }
  } catch (error) {
    await opened.close()
    throw error
  } finally {
    files.close()
  }
}

/** Creates the shop with its people, numbers and tokens. */
async function prepare({ cli, page, account, url }: OpenConsole): Promise<{ id: string; token: string }> {
  await page.request.put(`/console/api/accounts/${account}/settings/name`, {
    data: { name: 'Corner Bakery' },
    headers: { origin: url },
  })
  // Marks the first steps as done: the shop has been open for a while.
  await page.request.post(`/console/api/accounts/${account}/overview/message-seen`, { headers: { origin: url } })
  const developer = { name: 'Dev Patel', email: 'dev@example.com', password: 'a loaf of bread at seven' }
  await addPerson(cli, developer, { role: 'developer' })
  await cli.json('user', 'add', 'tess@example.com', '--role', 'viewer')
  const receipts = ['delivered_after=1s', 'read_after=3s']
  await cli.json('connection', 'set', ORDERS, ...receipts)
  for (const number of [REMINDERS, NEWSLETTER]) await cli.json('connection', 'add', number, '--channel', 'sandbox')
  await cli.json('connection', 'rename', ORDERS, 'Orders')
  await cli.json('connection', 'rename', REMINDERS, 'Table reminders')
  await cli.json('connection', 'rename', NEWSLETTER, 'Newsletter')
  await cli.json('connection', 'set', REMINDERS, 'least_gap=20s', 'quiet_hours=22:00-07:00@Europe/Berlin')
  await cli.json('connection', 'pause', NEWSLETTER)
  await cli.json('token', 'create', '--name', 'oven-alarm', '--expires', '7d', ...SEND)
  await cli.json('token', 'create', '--name', 'newsletter', '--expires', '1y', ...SEND, '--connection', NEWSLETTER)
  return await cli.json('token', 'create', '--name', 'web-shop', '--expires', '90d', ...SEND)
}

/** Adds a webhook of the shop, and one whose address does not answer any more. Returns the id of the first. */
async function addWebhook({ cli }: OpenConsole, shop: string): Promise<string> {
  const add = (url: string, description: string, ...kinds: readonly string[]) => {
    const notices = kinds.flatMap((kind) => ['--notice', kind])
    return cli.json<{ id: string }>('webhook', 'add', url, '--description', description, ...notices)
  }
  const states = ['message.delivered', 'message.failed', 'message.unconfirmed', 'message.expired']
  const { id } = await add(`${shop}/hooks/nuncio`, 'Orders of the web shop', ...states)
  await add(`${shop}/old/hooks`, 'The shop before the move', 'message.failed')
  return id
}

/** Sends the shop's messages. Returns the id of one that will fail. */
async function sendAll({ cli, url }: OpenConsole, { token, files }: { token: string; files: string }): Promise<string> {
  const send = (from: string, to: string, message: Readonly<Record<string, unknown>>) =>
    sendOne({ url, token, body: { from, to, message } })
  const text = (from: string, to: string, words: string) => send(from, to, { type: 'message', message: words })
  const toAnna = (type: string, name: string, caption: string | null) =>
    send(ORDERS, ANNA, { type, media: { name, url: `${files}/${name}`, caption } })

  await text(ORDERS, ANNA, 'Good morning Anna! Your order 1042 is in the oven. 🥐')
  await toAnna('image', 'order-1042.png', 'Two loaves and six croissants, as ordered.')
  await toAnna('document', 'invoice-1042.pdf', 'Your invoice.')
  await toAnna('audio', 'hello.wav', null)
  await text(ORDERS, ANNA, 'Ready for you from 9:30 at the side door.')
  for (const [index, name] of ['Ben', 'Chloé', 'Deniz', 'Emma', 'Farid', 'Grete'].entries()) {
    await text(ORDERS, `4917012345${10 + index}`, `Hello ${name}, your bread is ready to be picked up.`)
  }
  await cli.run('recipient', 'block', '491701234519', '--reason', 'Asked by phone')
  await cli.run('recipient', 'block', '491701234540', '--reason', 'Has moved away')
  await text(ORDERS, '491701234519', 'Hello Hanna, your bread is ready to be picked up.')
  await text(ORDERS, '15550100002', 'Your order 1043 is ready.')
  const failed = await text(ORDERS, '15550100001', 'Your order 1044 is ready.')
  await text(ORDERS, '15550100003', 'Your order 1045 is ready.')
  await text(ORDERS, '15550100004', 'Your order 1046 is ready.')
  await text(ORDERS, '15550100007', 'Your order 1047 is ready.')
  for (let day = 1; day <= 5; day += 1) await text(REMINDERS, `49170123452${day}`, 'Tomorrow is your bread day.')
  for (let to = 0; to < 9; to += 1) await text(NEWSLETTER, `49170123453${to}`, 'New this week: rye with walnuts.')
  await text('15559999999', ANNA, 'From a number that we do not have.')
  await text(ORDERS, '+49 170 1234501', 'With a plus and spaces.')
  await send(ORDERS, ANNA, { type: 'message', message: '' })
  return failed
}

interface Call {
  readonly url: string
  readonly token: string
  readonly body: unknown
}

/** Sends one message. A refusal is also wanted: it appears in the log. Returns the message's id, empty when refused. */
async function sendOne({ url, token, body }: Call): Promise<string> {
  const response = await fetch(`${url}/chat/api/v1/public/message/send`, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', 'user-agent': 'corner-bakery-shop/2.4' },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response.headers.get('x-message-id') ?? ''
}

/** Starts a web server that stands for the shop's own. */
async function offer(files: Readonly<Record<string, OfferedFile>>) {
  const server = createServer((request, response) => {
    const file = files[(request.url ?? '').slice(1)]
    if (request.method === 'POST' && request.url === '/hooks/nuncio') response.end('taken')
    else if (!file) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': file.type, 'content-length': file.body.length }).end(file.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
