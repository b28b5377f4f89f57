import { type ESTree, Visitor } from 'vite'
import { type Finding, report } from './finding.ts'
import { lineAt, parseSource } from './parse-source.ts'
import { readTree, type Tree } from './source-tree.ts'

const FILE_LINES = 400
const FUNCTION_LINES = 80

const CODE = '{src,client,console,site,test,bench,scripts,extras}/**/*.{ts,tsx,mjs,js,css,sql}'

// These are not read from top to bottom: a migration is never edited again, a generated file is read at its source, and a
// conformance suite is a list.
const UNLIMITED = [/\/migrations\//, /\/generated\//, /\.generated\.ts$/, /\/schema\.sql$/, /^test\/conformance\//]

const PAGES = [
  { pages: /^README\.md$/, lines: 130, remedy: 'move what a first visitor does not need to docs' },
  { pages: /^CONTRIBUTING\.md$/, lines: 150, remedy: 'move the longest recipe to docs and link it' },
  {
    pages: /^src\/[^/]+\/README\.md$/,
    lines: 30,
    remedy: 'keep purpose, permitted imports, the first file to read and what it never does',
  },
]

if (import.meta.main) {
  report(findSizes(readTree(CODE, '{README,CONTRIBUTING}.md', 'src/*/README.md')))
}

export function findSizes(tree: Tree): Finding[] {
  const files = [...tree].flatMap(([file, text]) =>
    file.endsWith('.md') ? pageTooLong(file, text) : tooLong(file, text),
  )
  return [...files, ...foldersWithoutReadme(tree)]
}

function pageTooLong(file: string, text: string): Finding[] {
  const limit = PAGES.find(({ pages }) => pages.test(file))
  const lines = countLines(text)
  if (!limit || lines <= limit.lines) return []
  return [{ file, problem: `has ${lines} lines, more than ${limit.lines}`, remedy: limit.remedy }]
}

function tooLong(file: string, text: string): Finding[] {
  if (UNLIMITED.some((pattern) => pattern.test(file))) return []
  const lines = countLines(text)
  const whole =
    lines > FILE_LINES
      ? [
          {
            file,
            problem: `has ${lines} lines, more than ${FILE_LINES}`,
            remedy: 'move one of the things it does to a file of its own',
          },
        ]
      : []
  return /\.(?:tsx?|m?js)$/.test(file) ? [...whole, ...longFunctions(file, text)] : whole
}

function longFunctions(file: string, text: string): Finding[] {
  return measureFunctions(file, text)
    .filter(({ lines }) => lines > FUNCTION_LINES)
    .map(({ name, line, lines }) => ({
      file,
      line,
      problem: `${name} has ${lines} lines, more than ${FUNCTION_LINES}`,
      remedy: 'split what decides from what acts, or name its steps as functions',
    }))
}

function foldersWithoutReadme(tree: Tree): Finding[] {
  const folders = new Set([...tree.keys()].flatMap((file) => /^src\/[^/]+(?=\/)/.exec(file) ?? []))
  return [...folders]
    .filter((folder) => !tree.has(`${folder}/README.md`))
    .map((folder) => ({
      file: `${folder}/README.md`,
      problem: 'is missing',
      remedy: 'write at most 30 lines: purpose, permitted imports, the first file to read, what it never does',
    }))
}

function measureFunctions(file: string, text: string) {
  const measured: { name: string; line: number; lines: number }[] = []
  const names = new Map<ESTree.Node, string>()
  const suites = new Set<ESTree.Node>()
  const measure = (node: ESTree.Function | ESTree.ArrowFunctionExpression) => {
    if (suites.has(node)) return
    const line = lineAt(text, node.start)
    const ownName = node.type !== 'ArrowFunctionExpression' && node.id ? node.id.name : undefined
    const name = ownName ?? names.get(node)
    measured.push({ name: name ? `function ${name}` : 'a function', line, lines: lineAt(text, node.end) - line + 1 })
  }
  const nameOf = (key: ESTree.Node) => text.slice(key.start, key.end)
  // A parent is visited before its children, so every name is known before its function.
  new Visitor({
    VariableDeclarator: ({ id, init }) => void (init && id.type === 'Identifier' && names.set(init, id.name)),
    Property: ({ key, value }) => void names.set(value, nameOf(key)),
    PropertyDefinition: ({ key, value }) => void (value && names.set(value, nameOf(key))),
    MethodDefinition: ({ key, value }) => void names.set(value, nameOf(key)),
    // The body of `describe` is a list of tests, not one procedure.
    CallExpression: ({ callee, arguments: args }) => {
      if (/^describe\b/.test(nameOf(callee))) for (const arg of args) suites.add(arg)
    },
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
  }).visit(parseSource(file, text).program)
  return measured
}

function countLines(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
