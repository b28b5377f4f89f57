import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** Where a file or folder lies that the program reads. `path` is its path from the root of a clone, or of a build. */
export function assetPath(path: string): string {
  // Not beside this file: a build puts the code of many files into one.
  const packageFile = findPackageJSON(import.meta.url)
  if (packageFile === undefined) throw new Error('The file package.json is missing in the folder of the program')
  return join(dirname(packageFile), path)
}
