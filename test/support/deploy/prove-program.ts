import assert from 'node:assert/strict'
import { join } from 'node:path'
import { findFreePort } from '../black-box/free-port.ts'
import { NuncioCli } from '../black-box/nuncio-cli.ts'
import { NuncioProcess } from '../black-box/nuncio-process.ts'
import { openTestFolder } from '../black-box/test-folder.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { postTo, SENDER } from '../journey/start-nuncio.ts'
import { openTestDatabase } from '../postgres/test-database.ts'

const TO = '15551234567'
const DEADLINE = { deadlineMs: 30_000 }

/** The service of an installed program, and the command line of the same program on the same data. */
export interface Installed {
  readonly service: NuncioProcess
  readonly cli: NuncioCli
}

/** Runs a proof against a service on empty data, and ends the service. `program`: the program with its first arguments. */
async function withService(
  program: readonly string[],
  { environment = {}, serveArguments = [] }: Pick<NuncioProcess['settings'], 'environment' | 'serveArguments'>,
  prove: (installed: Installed) => Promise<void>,
): Promise<void> {
  const folder = openTestFolder()
  const place = { program, dataDir: join(folder.path, 'data'), workDir: folder.path }
  const port = await findFreePort()
  const onStart = (pid: number) => folder.remember(pid)
  const service = new NuncioProcess({ ...place, port, environment, serveArguments, onStart })
  const cli = new NuncioCli({ ...place, environment: { NUNCIO_PORT: String(port), ...environment } })
  try {
    await service.start()
    await prove({ service, cli })
  } finally {
    await service.stop()
    folder.remove()
  }
}

/**
 * Proves on SQLite what every way of installing promises. `upgrade`: installs the program again over itself while the service is
 * stopped.
 */
export async function proveProgram(program: readonly string[], upgrade: () => Promise<void>): Promise<void> {
  await withService(program, {}, (installed) =>
    proveService(installed, { backups: join(installed.service.settings.workDir, 'backups'), upgrade }),
  )
}

/** Proves the same for a service that runs on empty data. `backups`: the path of a folder, as the program sees it. */
export async function proveService(
  { service, cli }: Installed,
  { backups, upgrade }: { readonly backups: string; readonly upgrade: () => Promise<void> },
): Promise<void> {
  await proveDoctorIsClean(cli)
  await provePages(service.url)
  await proveConsoleReads(service.url, cli)
  const token = await createToken(cli)
  await proveDelivers({ url: service.url, token, cli })

  const backup = await cli.json<{ readonly path: string }>('backup', backups)
  await proveStops(service)
  await cli.json('restore', backup.path, '--replace')
  await upgrade()
  await service.start()
  await cli.json('hold', '--release')

  await proveDelivers({ url: service.url, token, cli })
  await proveStops(service)
}

/** Proves that several processes of an installed program share one database on PostgreSQL. */
export async function proveSeveralProcesses(program: readonly string[]): Promise<void> {
  const database = await openTestDatabase()
  try {
    const way = { environment: { NUNCIO_DATABASE_URL: database.url }, serveArguments: ['--processes', '2'] }
    await withService(program, way, proveTwoProcesses)
  } finally {
    await database.drop()
  }
}

/** Proves the same for a service that runs in two processes on PostgreSQL. */
export async function proveTwoProcesses({ service, cli }: Installed): Promise<void> {
  await waitUntil('both processes work', async () => (await countWorkers(cli)) === 2, DEADLINE)
  await proveDelivers({ url: service.url, token: await createToken(cli), cli })
  await proveStops(service)
}

async function countWorkers(cli: NuncioCli): Promise<number> {
  const workers = await cli.json<readonly { readonly state: string }[]>('workers')
  return workers.filter(({ state }) => state === 'alive').length
}

async function proveDoctorIsClean(cli: NuncioCli): Promise<void> {
  const { findings } = await cli.json<{
    readonly findings: readonly { readonly status: string; readonly sentence: string }[]
  }>('doctor', '--offline')

  assert.ok(findings.length > 5)
  assert.deepEqual(
    findings.filter(({ status }) => status === 'problem'),
    [],
  )
}

/** Loads the first pages of the console and of the documents, with all scripts and styles that they name. */
async function provePages(url: string): Promise<void> {
  assert.ok((await provePage(url, '/console/')) > 1)
  assert.ok((await provePage(url, '/docs/')) > 1)
  await fetchText(`${url}/openapi.json`)
}

async function provePage(url: string, path: string): Promise<number> {
  const html = await fetchText(url + path)
  const assets = [...html.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(([, asset = '']) => asset)
  for (const asset of assets) await fetchText(new URL(asset, url + path).href)
  return assets.length
}

export async function fetchText(url: string): Promise<string> {
  const response = await fetch(url)
  const text = await response.text()
  assert.equal(response.status, 200, `${url}: ${text.slice(0, 200)}`)
  return text
}

/** On SQLite a separate thread reads for the console. The first page that needs it starts it. */
async function proveConsoleReads(url: string, cli: NuncioCli): Promise<void> {
  const { url: link } = await cli.json<{ readonly url: string }>('user', 'setup-link')
  const [account] = await cli.json<readonly { readonly id: string }[]>('account', 'list')
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
  const owner = { name: 'Olga', email: 'olga@example.com', password: 'violet tractor napkin orbit' }
  const signedIn = await fetch(`${url}/console/api/links/set-up`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ link: link.split('/').at(-1), ...owner }),
  })
  assert.equal(signedIn.status, 200, await signedIn.text())
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')

  const log = await fetch(`${url}/console/api/accounts/${account?.id}/log`, { headers: { ...headers, cookie } })

  assert.equal(log.status, 200, await log.text())
}

async function createToken(cli: NuncioCli): Promise<string> {
  const made = await cli.json<{ readonly token: string }>(
    ...['token', 'create', '--name', 'shop', '--event', 'messaging.send_message', '--expires', '7d'],
  )
  return made.token
}

async function proveDelivers({ url, token, cli }: { url: string; token: string; cli: NuncioCli }): Promise<void> {
  const message = { from: SENDER, to: TO, message: { type: 'message', message: 'Hello from Nuncio' } }

  const { status, messageId, body } = await postTo(url, token, { body: message, headers: {} })

  assert.equal(status, 200, JSON.stringify(body))
  const isDelivered = async () => {
    const inbox = await cli.json<readonly { readonly messageId: string }[]>('sandbox', 'inbox')
    return inbox.some((entry) => entry.messageId === messageId)
  }
  await waitUntil('the sandbox delivers the message', isDelivered, DEADLINE)
}

async function proveStops(service: NuncioProcess): Promise<void> {
  service.signal('SIGTERM')
  assert.deepEqual(await service.ended(35_000), { code: 0, signal: null }, service.log)
}
