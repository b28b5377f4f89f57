import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'vitest'
import { commandLine } from './command-line.ts'

const MODULE = JSON.stringify(new URL('./command-line.ts', import.meta.url).href)

describe('a command in a sentence', () => {
  it('begins with `nuncio` as long as no program says otherwise', () => {
    assert.equal(commandLine`hold --release`, 'nuncio hold --release')
  })

  it('has what is filled in as it stands where a shell takes it so', () => {
    const [id, path] = ['01a1fdcd-8a6b-7e11-a818-8cd1c5a13d6e', '/var/backups/nuncio-2026-11-22T001205Z']

    assert.equal(commandLine`message explain ${id}`, `nuncio message explain ${id}`)
    assert.equal(commandLine`verify ${path}`, `nuncio verify ${path}`)
  })

  it.each(['a folder', "it's", '$(reboot)', '`reboot`', 'a;b', '~', '*', 'a\\b', '“ÄÖ”', '', "''", 'a\nb'])(
    'survives a shell with %j filled in',
    (filled) => {
      const text = commandLine`verify ${filled} --json`

      const { stdout } = spawnSync('sh', ['-c', text.replace('nuncio', `printf '%s|'`)], { encoding: 'utf8' })

      assert.equal(stdout, `verify|${filled}|--json|`)
    },
  )

  it('begins as the program says that runs', () => {
    assert.deepEqual(runs('setCommandPrefix("npx nuncio"); console.log(commandLine`hold`)'), ['npx nuncio hold\n', 0])
  })

  // Half of the sentences would begin otherwise than the rest.
  it('may not have been written before the program has said so', () => {
    const [stdout, status] = runs('commandLine`hold`; setCommandPrefix("npx nuncio"); console.log("set")')

    assert.deepEqual([stdout, status], ['', 1])
  })
})

function runs(code: string): readonly [stdout: string, status: number | null] {
  const program = `import { commandLine, setCommandPrefix } from ${MODULE}; ${code}`
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  return [stdout, status]
}
