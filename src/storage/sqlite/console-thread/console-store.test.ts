import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { beforeEach, describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { openAdministration } from '../queries/open-administration.ts'
import { packError, unpackError, withBuffers } from './console-messages.ts'
import { ConsoleThread } from './console-store.ts'

let folder: string
let path: string
let problems: unknown[]
let thread: ConsoleThread
let storageError: StorageError | null

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nuncio-console-'))
  path = join(folder, 'nuncio.db')
  problems = []
  openAdministration(path, { create: true, now: () => 1 }).close()
  storageError = null
  thread = new ConsoleThread({ path, findError: () => storageError, onError: (error) => problems.push(error) })
  return async () => {
    await thread.close()
    await rm(folder, { recursive: true })
  }
})

describe('the thread of the console', () => {
  it('answers what it is asked', async () => {
    const made = await thread.store.administration.createAccount('Acme', 'test')

    assert.equal(made.name, 'Acme')
    assert.deepEqual(await thread.store.administration.listAccounts(), [made])
  })

  it('brings refusals back whole, and faults as faults', async () => {
    await thread.store.administration.createAccount('Acme', 'test')

    await assert.rejects(thread.store.administration.createAccount('Acme', 'test'), (error) => {
      assert.ok(error instanceof Refusal)
      assert.equal(error.code, 'account_exists')
      return true
    })
    await assert.rejects(thread.store.people.findPerson(Symbol('no text') as never), /could not be cloned/)
    await assert.rejects((thread.store.people as never as Record<string, () => Promise<void>>)['gone']!(), (error) => {
      assert.ok(!(error instanceof Refusal))
      assert.match(String(error), /knows no people.gone/)
      return true
    })
  })

  it('G10: explains lanes by what the service itself says of its storage', async () => {
    const { administration, lanes } = thread.store
    const { id: accountId } = await administration.createAccount('Acme', 'test')
    const wanted = {
      accountId,
      number: '15550001000',
      channel: 'sandbox',
      policy: DEFAULT_LANE_POLICY,
      channelSettings: {},
    }
    const { id } = await administration.addConnection(wanted, 'test')
    const before = await lanes.readLane({ accountId, id })

    storageError = { since: 1, cause: 'The disk is full.' }
    const after = await lanes.readLane({ accountId, id })

    assert.equal(before.standsStill, null)
    assert.deepEqual(
      [after.standsStill?.reason, after.standsStill?.words],
      ['storage_unavailable', 'The disk is full.'],
    )
  })

  it('takes and gives bytes as Buffers', async () => {
    const { id: accountId } = await thread.store.administration.createAccount('Acme', 'test')
    const person = { email: 'anna@example.com', name: 'Anna', passwordHash: 'none' }
    const { id } = await thread.store.people.addPerson(person, { accountId, role: 'owner' }, 'test')

    await thread.store.people.beginTotp(id, Buffer.from('secret'))

    const secret = await thread.store.people.readTotp(id, 'begun')
    assert.ok(Buffer.isBuffer(secret))
    assert.equal(secret.toString(), 'secret')
  })

  it('notices what others commit, and what it commits itself, and nothing else', async () => {
    const { changes, administration } = thread.store
    const before = await changes.poll()
    assert.equal(await changes.poll(), before)

    const visit = openAdministration(path, { create: false, now: () => 1 })
    await visit.administration.createAccount('Of the command line', 'cli')
    visit.close()
    const afterOthers = await changes.poll()
    await administration.createAccount('Of the console', 'test')

    assert.notEqual(afterOthers, before)
    assert.notEqual(await changes.poll(), afterOthers)
  })

  it('rejects what is open when it dies, and is started again', async () => {
    await thread.store.administration.createAccount('Acme', 'test')

    // More than it can answer before it dies, however fast the machine is.
    const asked = Array.from({ length: 5_000 }, () => thread.store.administration.listAccounts())
    const answers = Promise.allSettled(asked)
    await thread.kill()
    const last = (await answers).at(-1)
    assert.match(last?.status === 'rejected' ? String(last.reason) : 'answered', /ended before it answered/)

    assert.equal((await thread.store.administration.listAccounts()).length, 1)
    assert.equal(problems.length, 1)
  })

  it('ends after a while without calls, and starts again with the next call', async () => {
    const brief = new ConsoleThread({
      path,
      findError: () => null,
      onError: (error) => problems.push(error),
      endsAfterIdleMs: 50,
    })
    await brief.store.administration.createAccount('Acme', 'test')
    await pause(300)

    const first = brief.store.administration.listAccounts()
    const [accounts] = await Promise.all([first, brief.store.administration.listAccounts()])
    await brief.close()

    assert.equal(accounts.length, 1)
    assert.deepEqual(problems, [])
  })

  it('says why it cannot begin, and begins when it can', async () => {
    const elsewhere = join(folder, 'later.db')
    const early = new ConsoleThread({
      path: elsewhere,
      findError: () => null,
      onError: (error) => problems.push(error),
    })

    await assert.rejects(early.store.administration.listAccounts(), (error) => {
      assert.ok(error instanceof Refusal)
      assert.equal(error.code, 'database_unavailable')
      return true
    })
    openAdministration(elsewhere, { create: true, now: () => 1 }).close()
    assert.deepEqual(await early.store.administration.listAccounts(), [])
    await early.close()
  })

  it('answers what is open before it closes, and nothing after', async () => {
    const open = Array.from({ length: 20 }, () => thread.store.administration.listAccounts())

    await thread.close()
    await thread.close()

    assert.equal((await Promise.all(open)).length, 20)
    await assert.rejects(thread.store.administration.listAccounts(), /has been closed/)
  })

  it('is waited for after it was let go of, by a process that has nothing else to do', async () => {
    const script = `
      import { ConsoleThread } from ${JSON.stringify(new URL('console-store.ts', import.meta.url).href)}
      const thread = new ConsoleThread({ path: process.argv[2], findError: () => null, onError: () => {} })
      await thread.store.administration.listAccounts()
      thread.rest()
      await thread.close()
      console.log('closed')`
    const file = join(folder, 'rest.mjs')
    await writeFile(file, script)
    const { stdout } = await promisify(execFile)(process.execPath, [file, path])

    assert.equal(stdout, 'closed\n')
  })

  it('can be closed before it has begun', async () => {
    await new ConsoleThread({ path, findError: () => null, onError: () => {} }).close()
  })
})

describe('what goes from one thread to another', () => {
  it('keeps code, words, field and cause of a refusal', () => {
    const refusal = new Refusal('token_exists', 'There is one.', 'name', { cause: new Error('unique') })

    const arrived = unpackError(structuredClone(packError(refusal)))

    assert.ok(arrived instanceof Refusal)
    assert.deepEqual([arrived.code, arrived.message, arrived.field], ['token_exists', 'There is one.', 'name'])
    assert.match(String((arrived.cause as Error).message), /unique/)
  })

  it('finds bytes wherever they lie', () => {
    const sent = structuredClone({ list: [{ hash: Buffer.from('a') }], at: new Date(0), none: null })

    const arrived = withBuffers(sent) as { list: { hash: Buffer }[]; at: Date; none: null }

    assert.equal(arrived.list[0]?.hash.toString(), 'a')
    assert.deepEqual([arrived.at, arrived.none], [new Date(0), null])
  })
})
