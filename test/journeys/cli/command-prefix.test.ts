import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { nuncioMain, nuncioSource } from '../../support/black-box/nuncio-environment.ts'
import { NuncioProcess } from '../../support/black-box/nuncio-process.ts'

const BY_NPX = { npm_command: 'exec', npm_lifecycle_event: 'npx', npm_lifecycle_script: "'nuncio'" }

describe('sentences name commands as they are typed where the program runs', () => {
  let workDir: string
  let copy: string

  beforeAll(() => {
    workDir = mkdtempSync(join(tmpdir(), 'nuncio-prefix-'))
    // The same layout as in an installed package.
    const folder = join(workDir, 'node_modules', 'nuncio')
    cpSync(dirname(dirname(nuncioMain)), folder, { recursive: true })
    copy = join(folder, 'src', 'nuncio.js')
  })

  afterAll(() => rmSync(workDir, { recursive: true, force: true }))

  /** What a command says when there is no database yet, and the first line of its help. */
  async function said(main: string, environment: Readonly<Record<string, string>> = {}): Promise<readonly unknown[]> {
    const cli = new NuncioCli({
      dataDir: join(workDir, 'data'),
      workDir,
      program: [process.execPath, main],
      environment,
    })
    const refused = await cli.run('account', 'list')
    const help = await cli.run('account', 'list', '--help')
    return [/ once: (.*) \(database_unavailable\)\n$/.exec(refused.stderr)?.[1], help.stdout.split('\n')[0]]
  }

  it.each([
    ['the build', () => nuncioMain],
    ['the sources', () => nuncioSource],
  ])('in a clone, where %s runs', async (_, main) => {
    assert.deepEqual(await said(main()), [
      'npm run -s nuncio -- serve',
      'Usage: npm run -s nuncio -- account list [options]',
    ])
  })

  it('in a copy outside of a clone', async () => {
    assert.deepEqual(await said(copy), ['nuncio serve', 'Usage: nuncio account list [options]'])
  })

  it('in a copy that npx runs', async () => {
    assert.deepEqual(await said(copy, BY_NPX), ['npx nuncio serve', 'Usage: npx nuncio account list [options]'])
  })

  it('on the pages of the console', async () => {
    const dataDir = join(workDir, 'served')
    const service = new NuncioProcess({
      dataDir,
      workDir,
      program: [process.execPath, copy],
      port: await findFreePort(),
      environment: BY_NPX,
    })
    await service.start()
    try {
      const answer = await fetch(`${service.url}/console/api/command-prefix`)

      assert.deepEqual(await answer.json(), { prefix: 'npx nuncio' })
    } finally {
      await service.stop()
    }
  })
})
