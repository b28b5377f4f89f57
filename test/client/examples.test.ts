import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import type { MessageView } from '../../src/core/ports/administration.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { compileIn, installClient } from '../support/client/install-client.ts'
import { serveFiles } from '../support/journey/serve-files.ts'
import { type Journey, SENDER, startNuncio } from '../support/journey/start-nuncio.ts'
import { cutAt, TcpProxy } from '../support/tcp-proxy.ts'

const run = promisify(execFile)
const EXAMPLES = join(ROOT, 'docs/examples')
const LETTER = Buffer.from('%PDF-1.4\n%%EOF\n')

interface Example {
  readonly name: string
  readonly file: string
  /** A command that prints the version of the program, if it is installed. */
  readonly probe: readonly [program: string, ...rest: string[]]
  /** The command that runs it; `file` is its path. */
  readonly start: (file: string) => readonly [program: string, ...rest: string[]]
}

const ALL: readonly Example[] = [
  { name: 'curl', file: 'send.sh', probe: ['curl', '--version'], start: (file) => ['sh', file] },
  {
    name: 'TypeScript',
    file: 'send.ts',
    probe: [process.execPath, '--version'],
    start: (file) => [process.execPath, copyToProject(file)],
  },
  { name: 'Python', file: 'send.py', probe: ['python3', '--version'], start: (file) => ['python3', file] },
  { name: 'PHP', file: 'send.php', probe: ['php', '--version'], start: (file) => ['php', file] },
  { name: 'Go', file: 'send.go', probe: ['go', 'version'], start: (file) => ['go', 'run', file] },
]

/** A project with the client installed. */
let project = ''

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'nuncio-examples-'))
  installClient(project)
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe.each(ALL)('the example in $name', (example) => {
  const obstacle = obstacleOf(example)

  it.skipIf(obstacle !== null)(`sends a text and a document, and neither twice${skipNote(obstacle)}`, async () => {
    const { nuncio, environment } = await openWorld()
    const [program, ...args] = example.start(join(EXAMPLES, example.file))
    const send = () => run(program, args, { env: { ...process.env, ...environment, TO: '15551234567' } })

    const first = await send()
    const again = await send()

    assert.equal(first.stdout, again.stdout)
    assert.match(first.stdout, /^order-4711-text: accepted.*\norder-4711-invoice: accepted.*\n$/)
    assert.equal(first.stderr, '')
    const ids = (await listMessages(nuncio)).map(({ id }) => id)
    assert.equal(ids.length, 2)
    for (const id of ids) await nuncio.reaches(id, 'PUBLISHED')
    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => [entry.type, entry.text, entry.name, entry.caption, entry.sizeBytes]),
      [
        ['message', 'Your order is on its way.', null, null, null],
        ['document', null, 'invoice.pdf', 'Your invoice', LETTER.length],
      ],
    )
  })

  it.skipIf(obstacle !== null)(
    `G5: sends no message twice when an answer is cut off${skipNote(obstacle)}`,
    async () => {
      const { nuncio, environment } = await openWorld()
      const proxy = await TcpProxy.open(Number(new URL(nuncio.url).port))
      onTestFinished(() => proxy.close())
      const cut = cutAt('success_200')
      proxy.onServerData = (chunk, connection) => (connection === 1 ? cut(chunk, connection) : 'forward')
      const API_URL = proxy.through(nuncio.url).replace(/\/$/, '')
      const [program, ...args] = example.start(join(EXAMPLES, example.file))

      const { stdout } = await run(program, args, {
        env: { ...process.env, ...environment, API_URL, TO: '15551234567' },
      })

      assert.match(stdout, /^order-4711-text: accepted.*\norder-4711-invoice: accepted.*\n$/)
      assert.ok(proxy.connections > 1)
      assert.equal((await listMessages(nuncio)).length, 2)
    },
  )

  it.skipIf(obstacle !== null)(`prints why it was refused${skipNote(obstacle)}`, async () => {
    const { nuncio, environment } = await openWorld()
    const [program, ...args] = example.start(join(EXAMPLES, example.file))

    const refused = run(program, args, { env: { ...process.env, ...environment, TO: '+1 555 1234567' } })

    await assert.rejects(refused, { code: 1, stdout: '', stderr: /refused|not accepted/ })
    await assert.rejects(refused, { stderr: /number_malformed.*Write this number as 15551234567/ })
    assert.deepEqual(await listMessages(nuncio), [])
  })
})

const [, , python] = ALL
const pythonObstacle = python ? obstacleOf(python) : null

it.skipIf(pythonObstacle !== null)(
  `the example in Python says in one sentence what is missing${skipNote(pythonObstacle)}`,
  () => {
    const environment = { PATH: process.env['PATH'], API_URL: 'http://127.0.0.1:1', FROM: SENDER }
    const { status, stderr } = spawnSync('python3', [join(EXAMPLES, 'send.py')], { env: environment, encoding: 'utf8' })

    assert.deepEqual([status, stderr], [1, 'Set NUNCIO_TOKEN, TO, DOCUMENT_URL, ORDER in the environment.\n'])
  },
)

async function openWorld() {
  const host = await serveFiles({ '/letter': { body: LETTER, type: 'application/pdf' } })
  const nuncio = await startNuncio({ settings: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } })
  const environment = {
    API_URL: nuncio.url,
    NUNCIO_TOKEN: nuncio.token,
    FROM: SENDER,
    DOCUMENT_URL: `${host}/letter`,
    ORDER: '4711',
  }
  return { nuncio, environment }
}

async function listMessages({ operator }: Journey) {
  const filter = { accountId: null, connectionId: null, state: null, limit: null }
  const messages: MessageView[] = []
  for await (const message of operator.administration.listMessages(filter)) messages.push(message)
  return messages
}

/** Why an example cannot run here, or null. */
function obstacleOf({ probe: [program, ...args] }: Example): string | null {
  return spawnSync(program, args).status === 0 ? null : `${program} is not installed`
}

/** A copy in a folder with the client installed. */
function copyToProject(file: string): string {
  const copy = join(project, 'send.ts')
  copyFileSync(file, copy)
  compileIn(project)
  return copy
}
