import assert from 'node:assert/strict'
import { Visitor } from 'vite'
import { describe, it } from 'vitest'
import { lineAt, parseSource } from '../scripts/parse-source.ts'
import { isTest, readTree, type Tree } from '../scripts/source-tree.ts'
import { Cli } from '../src/cli/cli.ts'
import { openEnvironment } from '../src/cli/environment.ts'
import { createProgram } from '../src/cli/program.ts'
import { commandFaults } from './support/commands/command-faults.ts'

const MAY_NAME_COMMANDS = [
  // These find out and write what precedes the words of a command.
  'src/core/command-line.ts',
  'src/config/command-prefix.ts',
  'console/api/use-command-line.ts',
  // This prints a page of the documents, which is the same everywhere.
  'src/cli/format/commands-page.ts',
]

const NAMES = createProgram(new Cli(openEnvironment(''))).commands.map((command) => command.name())
// The one command that works only in a clone, and whose sentence says so.
const COMMAND = new RegExp(
  String.raw`\bnuncio (?:${NAMES.join('|')}|--help)\b|\bnpx \w|\bnpm (?:run|exec)\b|(?<![Ii]n a clone, \W)\bnpm start\b`,
)

describe('sentences for people', () => {
  const sources = new Map(
    [...readTree('src/**/*.{ts,js}', 'console/**/*.{ts,tsx}', 'console/index.html')].filter(([file]) => !isTest(file)),
  )

  it('are found', () => {
    assert.ok(readCommands(sources).length > 100)
  })

  it('write commands only with the helper that writes them as they are typed where the program runs', () => {
    assert.deepEqual(findBareCommands(sources), [])
  })

  it('name only existing commands and options', () => {
    const faults = readCommands(sources).flatMap(({ place, words }) =>
      commandFaults(`nuncio ${words}`, { isWhole: false }).map((fault) => `${place} ${fault}`),
    )

    assert.deepEqual(faults, [])
  })
})

describe('the check of sentences', () => {
  it.each([
    ['a command in a string', 'src/core/a.ts', `const a = 'Look at it: nuncio hold --release'`],
    ['a command in a template', 'src/core/a.ts', `const a = \`See nuncio webhook deliveries \${id}\``],
    ['a command of a clone', 'src/server/a.js', `const a = 'Run: npm run -s nuncio -- migrate'`],
    ['a command of npx', 'src/server/a.js', `const a = 'Run: npx nuncio migrate'`],
    ['how a clone is started', 'src/server/a.ts', `const a = 'Start it: npm start'`],
    ['a command on a page', 'console/a.tsx', 'const a = <code>nuncio user reset-password</code>'],
    ['a command in an attribute', 'console/a.tsx', 'const a = <Hint text="Run nuncio user add." />'],
    ['a command in HTML', 'console/index.html', '<noscript>See nuncio --help</noscript>'],
  ])('finds %s', (_, file, text) => {
    assert.deepEqual(findBareCommands(new Map([[file, `\n${text}`]])), [`${file}:2`])
  })

  it.each([
    ['comments', 'src/core/a.ts', '// As nuncio hold does.\nconst a = 1'],
    ['the name of the product', 'src/core/a.ts', `const a = 'nuncio: the role nuncio is not an owner'`],
    [
      'a command that is written for where the program runs',
      'src/core/a.ts',
      `const a = \`See \${commandLine\`hold\`}.\``,
    ],
    ['what is true of a clone alone', 'src/core/a.ts', `const a = 'In a clone, \`npm start\` builds them.'`],
  ])('lets pass %s', (_, file, text) => {
    assert.deepEqual(findBareCommands(new Map([[file, text]])), [])
  })

  it.each(['hold --relase', 'messages list', 'connection', 'attention now'])(
    'reports that “%s” does not exist',
    (words) => {
      const [command] = readCommands(new Map([['src/core/a.ts', `const a = commandLine\`${words}\``]]))

      assert.equal(commandFaults(`nuncio ${command?.words}`, { isWhole: false }).length, 1)
    },
  )

  it('takes a placeholder as one word', () => {
    assert.deepEqual(readCommands(new Map([['src/core/a.ts', `f(commandLine\`verify \${path}\`)`]])), [
      { place: 'src/core/a.ts:1', words: 'verify FILLED' },
    ])
  })
})

/** The places where a text names a command without the helper. */
function findBareCommands(tree: Tree): string[] {
  return [...tree]
    .filter(([file]) => !MAY_NAME_COMMANDS.includes(file))
    .flatMap(([file, text]) =>
      textsOf(file, text)
        .filter(({ words }) => COMMAND.test(words))
        .map(({ start }) => `${file}:${lineAt(text, start)}`),
    )
}

interface Text {
  readonly words: string
  readonly start: number
}

function textsOf(file: string, text: string): readonly Text[] {
  if (file.endsWith('.html'))
    return text.split('\n').map((words, at, all) => ({ words, start: all.slice(0, at).join('\n').length + 1 }))
  const found: Text[] = []
  new Visitor({
    Literal: ({ value, start }) => {
      if (typeof value === 'string') found.push({ words: value, start })
    },
    TemplateElement: ({ value, start }) => {
      found.push({ words: value.cooked ?? value.raw, start })
    },
    JSXText: ({ value, start }) => {
      found.push({ words: value, start: start + value.length - value.trimStart().length })
    },
  }).visit(parseSource(file, text).program)
  return found
}

/** The commands that are written with the helper. */
function readCommands(tree: Tree): { readonly place: string; readonly words: string }[] {
  return [...tree]
    .filter(([file]) => !file.endsWith('.html'))
    .flatMap(([file, text]) => {
      const found: { readonly place: string; readonly words: string }[] = []
      new Visitor({
        TaggedTemplateExpression: ({ tag, quasi, start }) => {
          if (tag.type !== 'Identifier' || tag.name !== 'commandLine') return
          const words = quasi.quasis.map(({ value }) => value.cooked).join('FILLED')
          found.push({ place: `${file}:${lineAt(text, start)}`, words })
        },
      }).visit(parseSource(file, text).program)
      return found
    })
}
