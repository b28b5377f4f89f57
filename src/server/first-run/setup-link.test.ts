import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, it, onTestFinished } from 'vitest'
import { AdministrationWorld } from '../../../test/support/administration-world/open-administration-world.ts'
import { createPeople } from '../../storage/queries/people/people.ts'
import { deleteSetupLink, printSetupLink } from './setup-link.ts'

let world: AdministrationWorld

function onError(error: unknown): never {
  throw error
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('the setup link of the first start', () => {
  beforeEach(() => {
    world = new AdministrationWorld()
    return world.open('SQLite')
  })

  it('is printed, and kept in a file that no other user can read; the database has its hash alone', async () => {
    const dataDir = temporaryFolder()
    const file = join(dataDir, 'setup-link')
    writeFileSync(file, 'an older one', { mode: 0o644 })

    const link = await printSetupLink(createPeople(world.store), {
      dataDir,
      url: 'http://here',
      isQuiet: false,
      onError,
    })

    assert.match(link?.url ?? '', /^http:\/\/here\/console\/set-up\/[\w-]{43}$/)
    assert.equal(readFileSync(file, 'utf8'), `${link?.url}\n`)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const secret = link?.url?.split('/').at(-1) ?? ''
    assert.doesNotMatch(JSON.stringify(await world.all('select * from person_link')), new RegExp(secret))
  })

  it('is gone once it is deleted, also when it was before', async () => {
    const dataDir = temporaryFolder()
    await printSetupLink(createPeople(world.store), { dataDir, url: 'http://here', isQuiet: false, onError })

    await deleteSetupLink(dataDir)
    await deleteSetupLink(dataDir)

    assert.equal(existsSync(join(dataDir, 'setup-link')), false)
  })

  it('is not made once there is a person, and the file goes', async () => {
    const dataDir = temporaryFolder()
    const people = createPeople(world.store)
    const accountId = await world.account()
    await printSetupLink(people, { dataDir, url: 'http://here', isQuiet: false, onError })
    await people.addPerson({ email: 'a@b', name: 'Anna', passwordHash: 'x' }, { accountId, role: 'owner' }, 'test')

    assert.equal(await printSetupLink(people, { dataDir, url: 'http://here', isQuiet: false, onError }), null)
    assert.equal(existsSync(join(dataDir, 'setup-link')), false)
  })

  it('is not made at a quiet start, and an older file goes', async () => {
    const dataDir = temporaryFolder()
    writeFileSync(join(dataDir, 'setup-link'), 'an older one')

    const link = await printSetupLink(createPeople(world.store), {
      dataDir,
      url: 'http://here',
      isQuiet: true,
      onError,
    })

    assert.deepEqual(link, { url: null, file: null })
    assert.equal(existsSync(join(dataDir, 'setup-link')), false)
    assert.deepEqual(await world.all('select * from person_link'), [])
  })

  it('G11: ends no service when it cannot be made, as on a full disk', async () => {
    const problems: unknown[] = []
    const full = new Error('the disk is full')
    const people = { hasPeople: async () => false, createPersonLink: () => Promise.reject(full) }
    const place = {
      dataDir: temporaryFolder(),
      url: 'http://here',
      isQuiet: false,
      onError: (error: unknown) => problems.push(error),
    }

    assert.equal(await printSetupLink(people, place), null)
    assert.deepEqual(problems, [full])
  })
})
