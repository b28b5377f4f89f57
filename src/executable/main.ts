import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { getAsset, getRawAsset } from 'node:sea'
import { brotliDecompressSync } from 'node:zlib'
import { openCacheFolder } from './cache-folder.ts'
import { CannotUnpack } from './cannot-unpack.ts'
import { type PackedProgram, unpackProgram } from './unpack-program.ts'

const ENTRY = join('src', 'nuncio.js')

try {
  run(...process.argv.slice(2))
} catch (error) {
  if (!(error instanceof CannotUnpack)) throw error
  process.stderr.write(`nuncio: ${error.message}\n`)
  process.exitCode = 1
}

function run(...given: readonly string[]): void {
  const cache = openCacheFolder()
  const [first] = given
  // A process of ours starts another one as with Node: with the file to run. That one belongs to the version of its parent,
  // which may be older than an executable that has taken its place.
  const isChild = first !== undefined && first === join(cache, basename(dirname(dirname(first))), ENTRY)
  const entry = isChild ? first : join(unpackProgram(readProgram(), cache), ENTRY)
  process.argv = [process.execPath, entry, ...(isChild ? given.slice(1) : given)]
  createRequire(entry)(entry)
}

function readProgram(): PackedProgram {
  const { name, files } = JSON.parse(getAsset('program.json', 'utf8')) as Pick<PackedProgram, 'name' | 'files'>
  return { name, files, read: () => brotliDecompressSync(new Uint8Array(getRawAsset('program.br'))) }
}
