import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { SENDABLE } from '../../../../test/support/sendable.ts'
import { SqliteStorage } from '../index.ts'
import { openAdministration } from '../queries/open-administration.ts'

let folder = ''
let problems: string[] = []
const clock = new HandClock()

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-memory-'))
  problems = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const file = (name = 'nuncio.db') => join(folder, name)

/** Serves for a moment. */
async function serve(meanwhile: () => unknown = () => {}): Promise<void> {
  const storage = new SqliteStorage({
    path: file(),
    clock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    onBroken: () => {},
    onError: (error) => problems.push(error instanceof Error ? error.message : String(error)),
  })
  await storage.start({ lanesChanged: () => {} })
  await meanwhile()
  await storage.close()
}

async function administer<Result>(
  work: (administration: ReturnType<typeof openAdministration>['administration']) => Promise<Result>,
): Promise<Result> {
  const visit = openAdministration(file(), { create: false, now: () => clock.now() })
  try {
    return await work(visit.administration)
  } finally {
    visit.close()
  }
}

const holdReason = () => administer(async (each) => (await each.readHold())?.reason ?? null)

function restore(): void {
  for (const rest of ['-wal', '-shm']) rmSync(file(`nuncio.db${rest}`), { force: true })
  copyFileSync(file('backup.db'), file())
}

describe('the memory of a SQLite database', () => {
  it('G12: raises no alarm over any number of restarts', async () => {
    for (let restart = 0; restart < 5; restart += 1) await serve()

    assert.deepEqual([await holdReason(), problems], [null, []])
  })

  it('G12: holds all lanes when a backup was put in its place, and says so', async () => {
    await serve()
    copyFileSync(file(), file('backup.db'))
    await serve()
    restore()

    await serve()

    assert.match((await holdReason()) ?? '', /older state/)
    assert.match(problems.join(), /All lanes are held\. Check what was sent, then: nuncio hold --release/)
  })

  it('G12: holds them even when the backup was made right before it was stopped', async () => {
    await serve()
    await serve(() => administer((each) => each.createAccount('Late', 'test')).then(() => backUp()))
    restore()

    await serve()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: stays released, and notices it again the next time', async () => {
    await serve()
    copyFileSync(file(), file('backup.db'))
    await serve()
    restore()
    await serve()
    await administer((each) => each.releaseHold('test'))

    await serve()
    const released = await holdReason()
    restore()
    await serve()

    assert.equal(released, null)
    assert.notEqual(await holdReason(), null)
  })

  it('G12: knows nothing in a fresh folder, and holds nothing for that', async () => {
    await serve()
    copyFileSync(file(), file('backup.db'))
    await serve()
    restore()
    rmSync(file('remembered.json'))

    await serve()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes when what it remembers is damaged, and once only', async () => {
    await serve()
    writeFileSync(file('remembered.json'), '')

    await serve()
    const reason = await holdReason()
    await administer((each) => each.releaseHold('test'))
    await serve()

    assert.match(reason ?? '', /remembered\.json/)
    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes of another installation that is put in its place', async () => {
    await serve()
    copyFileSync(file(), file('backup.db'))
    rmSync(file('remembered.json'))
    rmSync(file())
    await serve()
    restore()

    await serve()

    assert.match((await holdReason()) ?? '', /another installation/)
  })
})

/** As `vacuum into` does it beside the running service. */
async function backUp(): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file())
  database.exec(`vacuum into '${file('backup.db')}'`)
  database.close()
}
