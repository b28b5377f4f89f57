import { type ESTree, Visitor } from 'vite'
import { type Finding, report } from './finding.ts'
import { lineAt, parseSource } from './parse-source.ts'
import { readTree, type Tree } from './source-tree.ts'
import { projectOf } from './tiers/test-projects.ts'

const PAGE = 'docs/guarantees.md'

// A heading, an entry of a list, or bold words, each at the start of its line: elsewhere a number is only mentioned.
const GUARANTEE = /^\s*(?:#{1,6}\s+|[-*+]\s+)(?:\*\*)?(G\d+)\b|^\*\*(G\d+)\s[^*]+\*\*/
const PLANNED = '<!-- planned -->'

// A row of the table of what `npm test` proves on which engine: `| G1 | links | links |`.
const ROW = /^\| (G\d+)\b[^|]*\|([^|]*)\|([^|]*)\|$/
const ENGINES = ['SQLite', 'PostgreSQL'] as const
const LINK = /\]\(\.\.\/([^)#]+)\)/g

if (import.meta.main) {
  const tree = readTree(PAGE, '{src,client,console,scripts}/**/*.test.{ts,tsx}', 'test/**/*.ts')
  report([...findGuarantees(tree), ...findUnprovenOnEngines(tree)])
}

export function findGuarantees(tree: Tree): Finding[] {
  const page = tree.get(PAGE)
  if (page === undefined) {
    return [{ file: PAGE, problem: 'is missing', remedy: 'list there what we promise, as `## G1 durable`' }]
  }
  const promised = guaranteesOf(page)
  const tests = testsOf(tree)
  return [...twice(promised), ...untested(promised, tests), ...unknown(promised, tests)]
}

/** `npm test` must prove each guarantee on each engine: the table of the page names the files. */
export function findUnprovenOnEngines(tree: Tree): Finding[] {
  const page = tree.get(PAGE) ?? ''
  const tests = testsOf(tree)
  const promised = guaranteesOf(page).filter(({ isPlanned }) => !isPlanned)
  return promised.flatMap(({ number, line }) =>
    ENGINES.flatMap((engine, column) => {
      const problem = problemOf(filesOfCell(page, number, column), number, tests)
      if (!problem) return []
      const remedy = `name in its table a file of \`npm test\` with a test of ${number}`
      return [{ file: PAGE, line, problem: `${problem} ${number} on ${engine}`, remedy }]
    }),
  )
}

function problemOf(files: readonly string[], number: string, tests: readonly NumberedTest[]): string | null {
  if (files.length === 0) return 'names no file of `npm test` that proves'
  const proves = (file: string) => tests.some((test) => test.runs && test.number === number && test.file === file)
  const wrong = files.filter((file) => projectOf(file) !== 'test' || !proves(file))
  return wrong.length > 0 ? `names ${wrong.join(', ')}, where \`npm test\` does not prove` : null
}

function filesOfCell(page: string, number: string, column: number): string[] {
  const rows = page.split('\n').map((text) => ROW.exec(text))
  const cell = rows.find((row) => row?.[1] === number)?.[2 + column] ?? ''
  return [...cell.matchAll(LINK)].map(([, file = '']) => file)
}

interface Guarantee {
  readonly number: string
  readonly line: number
  readonly isPlanned: boolean
}

interface NumberedTest {
  readonly number: string
  readonly file: string
  readonly line: number
  readonly runs: boolean
}

function testsOf(tree: Tree): NumberedTest[] {
  return [...tree].flatMap(([file, text]) => (file === PAGE ? [] : numberedTests(file, text)))
}

function guaranteesOf(page: string): Guarantee[] {
  return page.split('\n').flatMap((text, index) => {
    const match = GUARANTEE.exec(text)
    const number = match?.[1] ?? match?.[2]
    return number ? [{ number, line: index + 1, isPlanned: text.includes(PLANNED) }] : []
  })
}

function twice(promised: readonly Guarantee[]): Finding[] {
  return promised
    .filter(({ number }, index) => promised.findIndex((other) => other.number === number) < index)
    .map(({ number, line }) => ({
      file: PAGE,
      line,
      problem: `gives the number ${number} a second time`,
      remedy: 'give each guarantee one number of its own',
    }))
}

function untested(promised: readonly Guarantee[], tests: readonly NumberedTest[]): Finding[] {
  return promised
    .filter(({ number, isPlanned }) => !isPlanned && !tests.some((test) => test.runs && test.number === number))
    .map(({ number, line }) => ({
      file: PAGE,
      line,
      problem: `promises ${number}, which no test proves`,
      remedy: `name a test \`${number}: …\`, or mark the line with ${PLANNED}`,
    }))
}

function unknown(promised: readonly Guarantee[], tests: readonly NumberedTest[]): Finding[] {
  return tests
    .filter(({ number }) => !promised.some((guarantee) => guarantee.number === number))
    .map(({ number, file, line }) => ({
      file,
      line,
      problem: `tests ${number}, which ${PAGE} does not promise`,
      remedy: 'correct the number, or write the promise down',
    }))
}

/** Tests and suites whose name starts with numbers: `G3: …`, `G3 …` or `G2 G3: …`. */
function numberedTests(file: string, text: string): NumberedTest[] {
  const found: NumberedTest[] = []
  new Visitor({
    CallExpression: ({ callee, arguments: [first], start }) => {
      const called = text.slice(callee.start, callee.end)
      const [numbers = ''] = /^G\d+(?:,? G\d+)*(?=[:\s])/.exec(textOf(first)) ?? []
      const runs = !/\.(?:skip|todo)\b/.test(called)
      for (const [number] of numbers.matchAll(/G\d+/g)) {
        found.push({ number, file, line: lineAt(text, start), runs })
      }
    },
  }).visit(parseSource(file, text).program)
  return found
}

function textOf(node: ESTree.Node | undefined): string {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'TemplateLiteral') return node.quasis[0]?.value.cooked ?? ''
  return ''
}
