import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../scripts/source-tree.ts'

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/** Makes of this folder a project that has the client as people install it: built, and found by its name. */
export function installClient(folder: string): void {
  const home = join(folder, 'node_modules/@nuncio/client')
  mkdirSync(home, { recursive: true })
  copyFileSync(join(ROOT, 'client/package.json'), join(home, 'package.json'))
  execFileSync(process.execPath, [TSC, '-p', join(ROOT, 'client'), '--outDir', join(home, 'dist')])
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
}

/** Throws, with what the compiler says, if these files do not compile where the client is installed. */
export function compileIn(folder: string): void {
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  execFileSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' })
}
