import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import type { Finding } from '../../src/operations/doctor/finding.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, readRows, settingsOf } from '../support/journey/engines.ts'
import { startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'

interface Answer {
  readonly status: string
  readonly findings: readonly Finding[]
}

function of(answer: Answer, check: string): readonly Finding[] {
  return answer.findings.filter((finding) => finding.check === check)
}

/** Counts of what a check must not change, whether people see it or not. */
const COUNTED = `select (select count(*) from audit) as audits, (select count(*) from account) as accounts,
  (select count(*) from worker) as workers, (select count(*) from migration) as migrations`

describe.each(ENGINES)('doctor on $name', ({ start, openSettings }) => {
  it('finds no fault in a running service, and changes nothing', async () => {
    const journey = await start()
    const settings = settingsAt(journey)
    const before = await readRows(journey, COUNTED)
    // A running service replaces its checkpoint now and then, by a draft.
    const files = () => readdirSync(journey.dataDir).filter((name) => !name.startsWith('remembered.json'))
    const filesBefore = files()

    const answer = await new CliOn(journey.dataDir, settings).json<Answer>('doctor', '--offline')

    assert.deepEqual(
      answer.findings.filter(({ status }) => status === 'problem'),
      [],
    )
    assert.match(of(answer, 'service')[0]?.sentence ?? '', /runs at .* and is ready/)
    assert.deepEqual(
      of(answer, 'key ring').map(({ status }) => status),
      ['ok'],
    )
    assert.deepEqual(await readRows(journey, COUNTED), before)
    assert.deepEqual(files().toSorted(), filesBefore.toSorted())
  })

  it('checks data without a service, and reports a hold', async () => {
    const journey = await start()
    const settings = settingsAt(journey)
    const cli = new CliOn(journey.dataDir, settings)
    await cli.run('hold', '--because', 'a check of the disks')
    await journey.stop()

    const answer = await cli.json<Answer>('doctor', '--offline')

    assert.match(of(answer, 'service')[0]?.sentence ?? '', /No service runs, and port \d+ is free/)
    assert.match(of(answer, 'attention')[0]?.sentence ?? '', /All lanes are held.*a check of the disks/)
    assert.equal(answer.status, 'warning')
  })

  it('says what a first start would create, and creates nothing', async () => {
    const dataDir = join(temporaryFolder(), 'data')
    const cli = new CliOn(dataDir, { ...(await openSettings()), NUNCIO_PORT: '0' })

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 0, stdout)
    assert.match(stdout, /the first start makes/)
    assert.throws(() => readdirSync(dataDir), /ENOENT/)
  })
})

describe('doctor', () => {
  it('reports every wrong setting and still checks what it can', async () => {
    const cli = new CliOn(temporaryFolder(), { NUNCIO_PORT: 'http', NUNCIO_PROT: '8080' })

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /PROBLEM settings .*NUNCIO_PORT/)
    assert.match(stdout, /warning settings .*NUNCIO_PROT/)
    assert.match(stdout, /skipped database/)
    assert.match(stdout, /ok +disk/)
    assert.match(stdout, /What to do:/)
  })

  it('finds another program on the port', async () => {
    const other = await startNuncio()
    const { port } = new URL(other.url)
    const cli = new CliOn(temporaryFolder(), { NUNCIO_PORT: port })
    // It is another Nuncio on other data. Only its pages would show that, so it counts as ours.
    const ours = await cli.json<Answer>('doctor', '--offline')
    assert.match(of(ours, 'service')[0]?.sentence ?? '', /runs/)

    const { createServer } = await import('node:http')
    const stranger = createServer((_, reply) => void reply.end('hello')).listen(0, '127.0.0.1')
    onTestFinished(() => void stranger.close())
    await once(stranger, 'listening')
    const address = stranger.address()
    const taken = new CliOn(temporaryFolder(), { NUNCIO_PORT: String(typeof address === 'object' && address?.port) })

    const { code, stdout } = await taken.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /PROBLEM service +Another program answers/)
  })

  it('finds a damaged database and a missing key ring', async () => {
    const journey = await startNuncio()
    const settings = settingsAt(journey)
    await journey.stop()
    const { renameSync } = await import('node:fs')
    renameSync(join(journey.dataDir, 'keys'), join(journey.dataDir, 'elsewhere'))
    const cli = new CliOn(journey.dataDir, settings)

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /PROBLEM key ring .*no key ring/)
    assert.throws(() => readdirSync(join(journey.dataDir, 'keys')), /ENOENT/)
  })

  it('refuses rounds without a kill test', async () => {
    const { code, stderr } = await new CliOn(temporaryFolder()).run('doctor', '--rounds', '3')

    assert.equal(code, 2)
    assert.match(stderr, /--rounds belongs to --kill-test/)
  })
})

/** The settings with the port at which doctor looks for the service. */
function settingsAt(journey: Awaited<ReturnType<typeof startNuncio>>): Record<string, string> {
  return { NUNCIO_PORT: new URL(journey.url).port, ...settingsOf(journey) }
}
