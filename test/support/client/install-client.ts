import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import clientPackage from '../../../client/package.json' with { type: 'json' }
import { ROOT } from '../../../scripts/source-tree.ts'
import { npm } from '../deploy/npm.ts'

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/** Turns this folder into a project that has the client installed from the published file. */
export function installClient(folder: string): void {
  const sources = join(folder, 'client')
  mkdirSync(sources)
  for (const file of ['package.json', 'README.md', 'LICENSE']) {
    copyFileSync(join(ROOT, 'client', file), join(sources, file))
  }
  execFileSync(process.execPath, [TSC, '-p', join(ROOT, 'client'), '--outDir', join(sources, 'dist')])
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  npm(folder, 'pack', sources)
  npm(folder, 'install', '--offline', `./nuncio-client-${clientPackage.version}.tgz`)
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'), 'junction')
}

/** Throws, with the compiler's output, if these files do not compile where the client is installed. */
export function compileIn(folder: string): void {
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  execFileSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' })
}
