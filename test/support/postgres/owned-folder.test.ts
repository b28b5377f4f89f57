import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { isRunning } from '../black-box/test-folder.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { OwnedFolder } from './owned-folder.ts'

const POSTGRES = `
  import { dirname } from 'node:path'
  import { PostgresServer } from '${new URL('postgres-server.ts', import.meta.url)}'
  const server = await PostgresServer.open()
  const { pid } = server
  const folder = dirname(server.dataFolder)
  const close = () => server.close()`

// Stands for a server: it works in the folder and has written its process id there.
const STAND_IN = `
  import { spawn } from 'node:child_process'
  import { writeFileSync } from 'node:fs'
  import { OwnedFolder } from '${new URL('owned-folder.ts', import.meta.url)}'
  const owned = OwnedFolder.open(process.argv[1])
  const folder = owned.path
  const server = spawn('tail', ['-f', folder + '/owner'], { stdio: 'ignore', detached: true })
  server.unref()
  const { pid } = server
  writeFileSync(folder + '/tail.pid', pid + '\\n')
  const close = () => owned.close()`

// Well below the deadline after which the guard kills.
const DEADLINE = { deadlineMs: 9_000, everyMs: 20 }

describe('a server whose tests are gone', () => {
  it('ends, and its folder is removed, when its owner is killed with SIGKILL', async () => {
    const { owner, details } = await startOwner(POSTGRES)

    owner.kill('SIGKILL')

    await waitUntil('the server ends', async () => !isAlive(details.server), DEADLINE)
    await waitUntil('its folder goes', async () => !existsSync(details.folder), DEADLINE)
  })

  it('ends when its owner ends without closing it, and does not keep the owner running', async () => {
    const { owner, details } = await startOwner(POSTGRES)
    const ended = once(owner, 'exit')

    owner.stdin.end('forget')

    const [code] = await ended
    await waitUntil('the server ends', async () => !isAlive(details.server), DEADLINE)
    assert.equal(code, 0)
  })

  it('is ended by the next one that starts when its guard was killed as well', async () => {
    // In its own parent folder: otherwise the next one could be started by a test that runs beside this one.
    const parent = mkdtempSync(join(tmpdir(), 'nuncio-parent-'))
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
    const { owner, details } = await startOwner(STAND_IN, parent)
    process.kill(details.guard, 'SIGKILL')
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    const wasAlive = isAlive(details.server)

    await OwnedFolder.open(parent).close()

    assert.deepEqual([wasAlive, isAlive(details.server), existsSync(details.folder)], [true, false, false])
  })

  it('is left alone while its owner lives', async () => {
    const { owner, details } = await startOwner(STAND_IN)

    await OwnedFolder.open().close()

    assert.deepEqual([isAlive(details.server), existsSync(details.folder)], [true, true])
    owner.kill('SIGKILL')
    await waitUntil('its folder goes', async () => !existsSync(details.folder), DEADLINE)
  })

  it('ends no other program that has got its process id', async () => {
    const folder = OwnedFolder.open()
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore' })
    writeFileSync(`${folder.path}/postmaster.pid`, `${stranger.pid}\n`)

    await folder.close()

    assert.equal(stranger.signalCode, null)
    assert.ok(isAlive(stranger.pid!))
    stranger.kill()
  })

  it('prints nothing', async () => {
    const { owner, printed } = await startOwner(POSTGRES)

    owner.stdin.end('close')

    await once(owner, 'close')
    assert.match(printed(), /^\{.*\}\n$/)
  })
})

/** Starts a process that owns a server, and that prints its process id and folder. */
async function startOwner(server: string, parent = tmpdir()) {
  const script = `${server}
    console.log(JSON.stringify({ server: pid, folder }))
    const [order] = await process.stdin.toArray()
    if (String(order) === 'close') await close()`
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', script, parent])
  onTestFinished(() => void owner.kill('SIGKILL'))
  let output = ''
  for (const stream of [owner.stdout, owner.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  await Promise.race([once(owner.stdout, 'data'), once(owner, 'close')])
  assert.match(output, /^\{.*\}\n$/)
  const details = JSON.parse(output) as { readonly server: number; readonly folder: string }
  const guard = Number(readFileSync(`${details.folder}/guard`, 'utf8'))
  return { owner, details: { ...details, guard }, printed: () => output }
}

// A dead process keeps its id until its parent has read the exit status.
function isAlive(pid: number): boolean {
  if (!isRunning(pid)) return false
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return process.platform !== 'linux'
  }
}
