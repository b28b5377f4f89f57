import { isBuiltin } from 'node:module'
import { dirname, join, normalize } from 'node:path/posix'
import { type ESTree, type ParseResult, Visitor } from 'vite'
import { lineAt, parseSource } from './parse-source.ts'
import { isTest, type Tree } from './source-tree.ts'

interface FolderRule {
  /** Folders under src it may import; `storage/*` means each folder directly in storage. Itself is always allowed. */
  readonly mayImport: readonly string[]
  readonly mayUseNode: boolean
}

export interface ImportRules {
  /** Folder under src, or `storage/*` for each folder directly in storage, → what it may import. */
  readonly folders: Readonly<Record<string, FolderRule>>
  /** Package or `node:` module → folders that may import it. */
  readonly packages: Readonly<Record<string, readonly string[]>>
  /** File beside src → folders that may import it. */
  readonly outside: Readonly<Record<string, readonly string[]>>
  /** Files that may import a path computed at run time. */
  readonly computed: readonly string[]
}

interface Import {
  readonly from: string
  readonly line: number
  /** Undefined if the path is computed at run time. */
  readonly specifier: string | undefined
}

/** What breaks the rules, one sentence each. Tests may import anything, but no file may import a test. */
export function findForbiddenImports(tree: Tree, rules: ImportRules): string[] {
  return readAllImports(tree).flatMap((imported) => {
    const fault = isTest(imported.from) ? undefined : faultOf(imported, tree, rules)
    return fault === undefined ? [] : [`${imported.from}:${imported.line} ${fault}`]
  })
}

/** Imports of a folder's files from outside of it, except from allowed places. */
export function findImportsOutOf(tree: Tree, folder: string, allowed: readonly string[]): string[] {
  return readAllImports(tree).flatMap(({ from, line, specifier }) => {
    if (isTest(from) || specifier?.startsWith('.') === false) return []
    const file = specifier === undefined ? 'a computed path' : resolve(from, specifier)
    const isAllowed = [folder, ...allowed].some((place) => file.startsWith(place))
    return isAllowed ? [] : [`${from}:${line} imports ${file}`]
  })
}

/** Import cycles, each once: `a.ts → b.ts → a.ts`. */
export function findCycles(tree: Tree): string[] {
  const imports = new Map<string, string[]>()
  for (const { from, specifier } of readAllImports(tree)) {
    if (specifier?.startsWith('.')) imports.set(from, [...(imports.get(from) ?? []), resolve(from, specifier)])
  }
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file].join(' → '))
    if (start >= 0 || done.has(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of tree.keys()) visit(file, [])
  return cycles
}

/** Places outside `allowed` that read the environment in any way. */
export function findEnvironmentReads(tree: Tree, allowed: readonly string[]): string[] {
  return [...tree]
    .filter(([file]) => !isTest(file) && !allowed.some((place) => file.startsWith(place)))
    .flatMap(([file, text]) => environmentLines(file, text).map((line) => `${file}:${line} reads the environment`))
}

function faultOf({ from, specifier }: Import, tree: Tree, rules: ImportRules): string | undefined {
  if (specifier === undefined && rules.computed.includes(from)) return undefined
  if (specifier === undefined) return 'imports a computed path, so its usages cannot be found: write the path out'
  const folder = folderOf(from, rules)
  if (folder === undefined) return `lies in no folder of the table: add "${dirname(from)}" with what it may import`
  if (specifier.startsWith('.')) return faultOfFile({ folder, file: resolve(from, specifier), tree, rules })
  return faultOfPackage(folder, specifier, rules)
}

interface FileImport {
  readonly folder: Folder
  readonly file: string
  readonly tree: Tree
  readonly rules: ImportRules
}

function faultOfFile({ folder, file, tree, rules }: FileImport): string | undefined {
  if (!file.startsWith('src/')) {
    return isListed(folder.name, rules.outside[file] ?? []) ? undefined : `imports ${file}, which lies outside src`
  }
  if (!tree.has(file)) return `imports ${file}, which is not there`
  if (isTest(file)) return `imports the test ${file}`
  const target = folderOf(file, rules)
  if (!target || target.name === folder.name || isListed(target.name, folder.rule.mayImport)) return undefined
  return `imports ${file}, but ${folder.name} may import only ${list(folder.rule.mayImport)}`
}

function faultOfPackage({ name, rule }: Folder, specifier: string, { packages }: ImportRules): string | undefined {
  const asNamed = packageOf(specifier)
  const permitted = packages[asNamed]
  if (permitted) {
    return isListed(name, permitted) ? undefined : `imports ${asNamed}, which only ${list(permitted)} may import`
  }
  if (!isBuiltin(specifier)) return `imports ${asNamed}, which is not in the table of packages`
  return rule.mayUseNode ? undefined : `imports ${specifier}, but ${name} may use nothing of Node`
}

interface Folder {
  readonly name: string
  readonly rule: FolderRule
}

/** The most specific row applies: `http/*` before `http` for src/http/api/send-message.ts. */
function folderOf(file: string, { folders }: ImportRules): Folder | undefined {
  const [, top = '', below = '', rest] = file.split('/')
  if (below === '') return undefined
  const candidates = rest === undefined ? [top] : [`${top}/${below}`, `${top}/*`, top]
  const row = candidates.find((candidate) => folders[candidate])
  const rule = row && folders[row]
  if (!rule) return undefined
  return { name: row.endsWith('/*') ? `${top}/${below}` : row, rule }
}

function isListed(folder: string, names: readonly string[]): boolean {
  return names.includes(folder) || names.includes(`${dirname(folder)}/*`)
}

function list(names: readonly string[]): string {
  return names.length > 0 ? names.join(', ') : 'nothing of ours'
}

function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function resolve(from: string, specifier: string): string {
  return normalize(join(dirname(from), specifier))
}

function readAllImports(tree: Tree): Import[] {
  return [...tree].flatMap(([from, text]) =>
    specifiersOf(text, parseSource(from, text)).map(({ specifier, start }) => ({
      from,
      line: lineAt(text, start),
      specifier,
    })),
  )
}

interface Specifier {
  readonly specifier: string | undefined
  readonly start: number
}

/** Treats `import`, `export … from`, `import()` and `import('…').Type` alike: a file that names another depends on it. */
function specifiersOf(text: string, { module, program }: ParseResult): Specifier[] {
  const named = module.staticImports.map(({ moduleRequest, start }) => ({ specifier: moduleRequest.value, start }))
  const passedOn = module.staticExports.flatMap(({ entries, start }) =>
    entries
      .slice(0, 1)
      .flatMap(({ moduleRequest }) => (moduleRequest ? { specifier: moduleRequest.value, start } : [])),
  )
  const called = module.dynamicImports.map(({ moduleRequest, start }) => ({
    specifier: /^(['"])(.*)\1$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[2],
    start,
  }))
  const inTypes: Specifier[] = []
  new Visitor({
    TSImportType: ({ source, start }) => void inTypes.push({ specifier: source.value, start }),
  }).visit(program)
  return [...named, ...passedOn, ...called, ...inTypes]
}

function environmentLines(file: string, text: string): number[] {
  const { program, module } = parseSource(file, text)
  const starts = module.staticImports
    .filter(({ moduleRequest }) => packageOf(moduleRequest.value).replace('node:', '') === 'process')
    .filter(({ entries }) => entries.some(({ importName }) => importName.name === 'env'))
    .map(({ start }) => start)
  new Visitor({
    MemberExpression: (node) => {
      if (isProcess(node.object) && nameOfKey(node.property) === 'env') starts.push(node.start)
    },
    VariableDeclarator: ({ id, init, start }) => {
      if (id.type !== 'ObjectPattern' || !init || !isProcess(init)) return
      if (id.properties.some((part) => part.type === 'Property' && nameOfKey(part.key) === 'env')) starts.push(start)
    },
  }).visit(program)
  return starts.map((start) => lineAt(text, start))
}

function isProcess(node: ESTree.Node): boolean {
  if (node.type === 'Identifier') return node.name === 'process'
  return node.type === 'MemberExpression' && nameOfKey(node.property) === 'process'
}

function nameOfKey(key: ESTree.Node): string | undefined {
  if (key.type === 'Identifier') return key.name
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined
}
