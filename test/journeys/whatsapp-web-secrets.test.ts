import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, it, onTestFinished } from 'vitest'
import { readSettings, type Settings } from '../../src/config/read-settings.ts'
import type { SessionRequestKind } from '../../src/core/ports/session-requests.ts'
import { type AdministrationSession, openAdministration } from '../../src/server/wiring/open-administration.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, readAllRows, readRows } from '../support/journey/engines.ts'
import { signInOwner } from '../support/journey/sign-in.ts'
import { postTo, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { LIBRARY_FOLDER, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import {
  BREAKS_THE_LIBRARY,
  newNumber,
  openSimulator,
  RECIPIENT,
  simulator,
} from '../support/whatsapp-web/library-world.ts'
import {
  findSecrets,
  type PlainSecret,
  readSessionSecrets,
  textSecret,
} from '../support/whatsapp-web/session-secrets.ts'
import { WatchedRequest } from '../support/whatsapp-web/watched-request.ts'

const REASON = whyNoLibrary()
const LIMIT = { deadlineMs: 60_000, everyMs: 50 }
const PAGES = ['', '/connections', '/log', '/channels', '/unresolved', '/audit']

/** The service as a separate process whose whole output is recorded, with a number that no phone has linked yet. */
interface Service {
  readonly process: NuncioProcess
  readonly operator: AdministrationSession
  readonly cli: CliOn
  readonly database: Settings['database']
  readonly dataDir: string
  readonly workDir: string
  readonly token: string
  readonly number: string
}

async function startService(engineSettings: Readonly<Record<string, string>>): Promise<Service> {
  const [dataDir, workDir, number] = [temporaryFolder(), temporaryFolder(), newNumber()]
  mkdirSync(join(dataDir, 'extras'), { recursive: true })
  symlinkSync(LIBRARY_FOLDER, join(dataDir, 'extras', 'whatsapp-web'))
  const environment = {
    ...engineSettings,
    NUNCIO_WHATSAPP_WEB_URL: `${simulator.url}#${simulator.rootKey.public.toString('base64url')}`,
    NUNCIO_LOG_LEVEL: 'debug',
    // Node writes such reports when something breaks, if an operator wants that.
    NODE_OPTIONS: `--report-on-fatalerror --report-uncaught-exception --report-directory=${workDir}`,
  }
  const process = new NuncioProcess({ dataDir, workDir, port: await findFreePort(), environment })
  onTestFinished(() => process.stop())
  await process.start()
  const { NODE_OPTIONS: _, ...ofCommands } = environment
  const cli = new CliOn(dataDir, { ...ofCommands, NUNCIO_PORT: String(process.settings.port) })
  const { settings } = readSettings({ environment: { ...ofCommands, NUNCIO_DATA_DIR: dataDir }, envFile: {} })
  const operator = await openAdministration(settings!, { create: false })
  onTestFinished(() => operator.close())
  await cli.json(
    'connection',
    'add',
    number,
    '--channel',
    'whatsapp-web',
    '--set',
    'least_gap=0s',
    '--set',
    'gap_jitter=0s',
  )
  const { token } = await cli.json<{ token: string }>('token', 'create', '--name', 'test', '--expires', '7d')
  return { process, operator, cli, database: settings!.database, dataDir, workDir, token, number }
}

async function request({ operator, number }: Service, kind: SessionRequestKind): Promise<WatchedRequest> {
  const { accountId, id } = await operator.administration.findConnection(number, null)
  const of = { accountId, id }
  const asked = await operator.deviceSessions.request(of, kind, 'test')
  const secrets = await operator.openSecrets()
  return new WatchedRequest(operator.deviceSessions, { of, id: asked.id, secrets, notify: () => {} })
}

async function linkPhone(service: Service): Promise<void> {
  const asked = await request(service, 'qr')
  simulator.pairing.scan(service.number, await asked.code())
  assert.deepEqual(await asked.end(), ['done', undefined])
}

/** Sends a text. Returns its id after the recipient has read it. */
async function sendText({ process, operator, token, number }: Service, text: string): Promise<string> {
  const body = { from: number, to: RECIPIENT, message: { type: 'message', message: text } }
  const { messageId } = await postTo(process.url, token, { body, headers: {} })
  const isRead = async () => (await operator.administration.explainMessage(messageId as never)).message.state === 'READ'
  await waitUntil(`${text} is read`, isRead, LIMIT)
  return messageId
}

/** Records everything from a stream of the console until `stop`. */
function listenTo(url: string, headers: Readonly<Record<string, string>>): { readonly stop: () => Promise<Buffer> } {
  const ended = new AbortController()
  const chunks: Uint8Array[] = []
  const reading = (async () => {
    const { body } = await fetch(url, { headers, signal: ended.signal })
    for await (const chunk of body!) chunks.push(chunk)
  })().catch(() => {})
  return {
    async stop() {
      ended.abort()
      await reading
      return Buffer.concat(chunks)
    },
  }
}

/** Every file below a folder, except the key ring and the installed packages. */
function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>()
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'keys') for (const [name, bytes] of filesIn(path)) found.set(name, bytes)
    const bytes = entry.isFile() ? bytesIn(path) : Buffer.alloc(0)
    if (bytes.length > 0) found.set(path, bytes)
  }
  return found
}

/** Empty for a draft that was renamed meanwhile, as the service does with its checkpoint. */
function bytesIn(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** The content of a copy of the database on PostgreSQL. That of SQLite is one of the files. */
async function rowsOf({ database }: Service): Promise<Buffer> {
  if (database.engine === 'sqlite') return Buffer.alloc(0)
  const rows = (await readAllRows(database)).flatMap((row) => [
    Buffer.from(`${row}\n`),
    // Decodes binary values: they are printed as hexadecimal digits, in which no text would be found.
    ...[...row.matchAll(/\\x([\da-f]+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex')),
  ])
  return Buffer.concat(rows)
}

/** Replaces the value of the first pre-key by these bytes, without our code. */
async function overwritePreKey({ database }: Service, bytes: Buffer): Promise<void> {
  const hex = bytes.toString('hex')
  const value = database.engine === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'`
  await readRows({ database }, `update channel_session_key set value = ${value} where kind = 'pre-key' and id = '1'`)
}

/** Where each secret was found, in everything that others may get to see. */
async function search(service: Service, secrets: readonly PlainSecret[], seen: ReadonlyMap<string, Buffer>) {
  const all = new Map([...seen, ...filesIn(service.dataDir), ...filesIn(service.workDir)])
  all.set('rows', await rowsOf(service))
  return [...all].flatMap(([name, bytes]) => findSecrets(bytes, secrets).map((what) => `${what} in ${name}`))
}

async function answersOf(
  service: Service,
  account: string,
  headers: Readonly<Record<string, string>>,
): Promise<Map<string, Buffer>> {
  const { process, cli, number } = service
  const urls = [
    `${process.url}/metrics`,
    ...PAGES.map((page) => `${process.url}/console/api/accounts/${account}${page}`),
  ]
  const answers = await Promise.all(
    urls.map(async (url) => [url, await (await fetch(url, { headers })).text()] as const),
  )
  const commands = [
    ['connection', 'check', number],
    ['connection', 'list'],
    ['message', 'list'],
    ['recipient', 'export', RECIPIENT],
    ['secrets', 'list'],
    ['config'],
    ['doctor', '--offline'],
  ]
  const said: (readonly [string, string])[] = []
  for (const command of commands) {
    const { stdout, stderr } = await cli.run(...command)
    said.push([command.join(' '), stdout + stderr])
  }
  return new Map<string, Buffer>([...answers, ...said].map(([name, text]) => [name, Buffer.from(text)]))
}

describe.skipIf(REASON).each(ENGINES)(
  `the secrets of a linked device, on $name, against the simulator${skipNote(REASON)}`,
  ({ openSettings }) => {
    openSimulator()

    it('are in no log, reply, stream, database, backup or report, even if the library prints them', async () => {
      const service = await startService(await openSettings())
      const { process, operator, cli, number, workDir, database } = service
      const { account, headers } = await signInOwner(process.url, operator)
      const stream = listenTo(`${process.url}/console/api/accounts/${account}/stream`, headers)

      const scanned = await request(service, 'qr')
      const qr = await scanned.code()
      assert.deepEqual(await search(service, [textSecret('QR code', qr)], new Map()), [])
      simulator.pairing.scan(number, qr)
      await scanned.end()
      // The library opens another session with this device, and prints the old one with its keys.
      simulator.phone(RECIPIENT).deafFor = 1
      await sendText(service, 'could not be read at first')
      const typed = await request(service, 'code')
      const code = await typed.code()
      assert.deepEqual(await search(service, [textSecret('code to type', code)], new Map()), [])
      await typed.cancel()
      simulator.lineOf(number)?.send(BREAKS_THE_LIBRARY)
      const log = () => readFileSync(join(workDir, 'service.log'), 'utf8')
      await waitUntil('the end of the thread', async () => log().includes('channel.thread_ended'), LIMIT)
      await sendText(service, 'after the thread has ended')
      // On PostgreSQL a backup is what its own program reads from the rows, which are searched themselves.
      if (database.engine === 'sqlite') await cli.json('backup', join(workDir, 'backups'))

      const stored = await readSessionSecrets(service)
      const [, ref = '', , , advSecret = ''] = /#([^,]+),([^,]+),([^,]+),([^,]+)/.exec(qr) ?? []
      const shown = [textSecret('QR code', ref), textSecret('QR code', advSecret), textSecret('code to type', code)]
      const seen = await answersOf(service, account, headers)
      seen.set('stream', await stream.stop())
      assert.deepEqual(await search(service, [...stored, ...shown], seen), [])

      // Shows that the search would find it in each form.
      const kinds = new Set(stored.map(({ what }) => what))
      for (const kind of ['credentials', 'session', 'pre-key', 'data key']) assert.ok(kinds.has(kind), kind)
      const all = [...stored, ...shown]
      const bytes = all.map(({ forms }) => Buffer.from(forms[0] ?? []))
      for (const clear of [
        Buffer.concat(bytes),
        Buffer.from(inspect(bytes, { maxArrayLength: null })),
        Buffer.from(JSON.stringify(bytes)),
      ])
        assert.ok(findSecrets(clear, stored).length === stored.length)
      assert.equal((await search(service, all, new Map([['clear', Buffer.concat(bytes)]]))).length, all.length)
      assert.match(String(seen.get('stream')), /event: changed/)

      // Shows that the search would find it in a row.
      const inClear = stored.find(({ what }) => what === 'credentials')
      await overwritePreKey(service, Buffer.from(JSON.stringify({ private: String(inClear?.forms[1]) })))
      assert.match((await search(service, stored, new Map())).join(), /^credentials in (?:rows$|\S*nuncio\.db)/)
    })

    it('are checked by verify, which names those that cannot be decrypted', async () => {
      const service = await startService(await openSettings())
      await linkPhone(service)
      const verify = async () => {
        const { stdout, code } = await service.cli.run('verify', '--json')
        const { findings } = JSON.parse(stdout) as Verified
        // What cannot be checked on this machine says nothing about the data.
        return { code, findings: findings.filter((finding) => finding.code !== 'not_checked') }
      }
      const before = await verify()
      const [swapped] = await readRows(
        service,
        `select value from channel_session_key where kind = 'pre-key' and id = '2'`,
      )
      await overwritePreKey(service, Buffer.from(swapped?.['value'] as Uint8Array))

      const after = await verify()

      assert.deepEqual([before.code, before.findings], [0, []])
      assert.deepEqual([after.code, after.findings.map(({ code }) => code)], [1, ['session_damaged']])
      assert.match(after.findings[0]?.where[0] ?? '', /^connection \d+ \(con_\w+\): a pre-key$/)
    })

    it('are reported by doctor while a worker runs', async () => {
      const service = await startService(await openSettings())
      const { process, cli, number } = service
      const examine = async () => {
        const { stdout } = await cli.run('doctor', '--offline', '--json')
        const { findings } = JSON.parse(stdout) as Examined
        return findings.filter(({ check }) => check === 'channels').map(({ status, sentence }) => [status, sentence])
      }
      const unlinked = await examine()
      await linkPhone(service)
      const linked = await examine()
      await process.stop()
      const stopped = await examine()

      assert.deepEqual(unlinked, [['problem', `The phone of ${number} is not linked, or was unlinked.`]])
      assert.deepEqual(linked, [['ok', '1 of 1 linked number logged in.']])
      assert.match(stopped[0]?.join() ?? '', /^skipped,No worker runs that could log 1 linked number in/)
    })

    it('stay untouched without the key ring: a link is refused with one sentence', async () => {
      const service = await startService(await openSettings())
      const { cli, dataDir, number, database } = service
      renameSync(join(dataDir, 'keys'), join(dataDir, 'elsewhere'))

      const { code, stdout, stderr } = await cli.run('connection', 'pair', number)

      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^nuncio: [^\n]*key ring[^\n]*\n$/)
      assert.deepEqual(await readRows({ database }, 'select * from session_request'), [])
    })
  },
)

interface Verified {
  readonly findings: readonly { readonly code: string; readonly where: readonly string[] }[]
}

interface Examined {
  readonly findings: readonly { readonly check: string; readonly status: string; readonly sentence: string }[]
}
