import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  findCycles,
  findEnvironmentReads,
  findForbiddenImports,
  findImportsOutOf,
  type ImportRules,
} from '../scripts/import-rules.ts'
import { readTree, type Tree } from '../scripts/source-tree.ts'

// Folder under src → folders it may import, besides itself. `storage/*` means each folder in storage alone, so one engine never
// sees the other. Every row is written out, so that a new folder needs a decision for each.
const FOLDERS: ImportRules['folders'] = {
  // The console and the client are built from it for browsers, which have neither our code nor Node.
  contract: { mayImport: ['format'], mayUseNode: false },

  // How times, durations, sizes and lines of CSV are written and read. The console uses it, too.
  format: { mayImport: [], mayUseNode: false },

  // Only rules. Everything that waits, fails or differs between machines is behind its ports.
  core: { mayImport: ['format'], mayUseNode: false },

  // Reads the environment into values.
  config: { mayImport: ['assets', 'core'], mayUseNode: true },

  // Finds the files that are not code.
  assets: { mayImport: [], mayUseNode: true },

  'storage/queries': { mayImport: ['core', 'format'], mayUseNode: true },
  'storage/*': { mayImport: ['assets', 'core', 'storage/queries'], mayUseNode: true },
  'channels/*': { mayImport: ['core', 'format', 'channels/receipts'], mayUseNode: true },
  // Shared by the channels that receive reports by callback.
  'channels/receipts': { mayImport: ['core'], mayUseNode: true },
  media: { mayImport: ['core', 'format'], mayUseNode: true },
  notify: { mayImport: ['core'], mayUseNode: true },
  secrets: { mayImport: ['core'], mayUseNode: true },

  // The list of channels.
  channels: { mayImport: ['core', 'channels/*'], mayUseNode: false },

  // Connects the areas and holds what they share.
  'http/server': { mayImport: ['core', 'contract', 'http/*'], mayUseNode: true },
  'http/*': { mayImport: ['core', 'contract', 'format', 'http/server'], mayUseNode: true },

  // The steps between the form of a connection and the database.
  connections: { mayImport: ['config', 'core', 'channels', 'channels/*', 'storage/queries'], mayUseNode: true },

  // Log, metrics and traces. They count per channel, so this folder knows the list of channels.
  observability: { mayImport: ['config', 'core', 'channels', 'http/server'], mayUseNode: true },

  // Connects all parts and runs them.
  server: {
    mayImport: [
      'assets',
      'channels',
      'channels/*',
      'config',
      'connections',
      'contract',
      'core',
      'http/*',
      'media',
      'notify',
      'observability',
      'secrets',
      'storage/*',
    ],
    mayUseNode: true,
  },

  // The operator's actions on the data, with or without a running service. It opens the parts as the server does.
  operations: {
    mayImport: [
      'assets',
      'channels',
      'channels/*',
      'config',
      'core',
      'format',
      'media',
      'secrets',
      'server',
      'storage/*',
    ],
    mayUseNode: true,
  },

  // The start of the executable, which contains all other folders and unpacks them.
  executable: { mayImport: [], mayUseNode: true },

  // Reads arguments, calls one function of operations or server, and prints the result.
  cli: { mayImport: ['assets', 'config', 'contract', 'core', 'format', 'operations', 'server'], mayUseNode: true },
}

// Package → folders that may import it. There are few, so that an abandoned package is replaced in one place.
const PACKAGES: ImportRules['packages'] = {
  // Only the console uses cookies and files. Callers of the endpoint have neither.
  '@fastify/cookie': ['http/console-api'],
  '@fastify/static': ['http/console-api'],
  '@simplewebauthn/server': ['http/console-api'],
  commander: ['cli'],
  fastify: ['http/*'],
  kysely: ['storage/*'],
  pg: ['storage/postgres'],
  // All others log through the journal, or through a logger that they are given.
  pino: ['observability', 'server'],
  standardwebhooks: ['notify'],
  'prom-client': ['observability'],
  // The guarded client for addresses from outside; others get it through a port. And the client of a network whose address the
  // operator sets.
  undici: ['media', 'channels/whatsapp-cloud'],
  // The shapes of input from outside.
  zod: ['contract'],

  // A module of Node, but a database engine.
  'node:sqlite': ['storage/*'],
}

// File beside src → folders that may import it.
const OUTSIDE: ImportRules['outside'] = {
  // The version. PostgreSQL keeps functions of a newer version.
  'package.json': ['cli', 'operations', 'server', 'storage/postgres'],
}

// These load libraries that people install by command, from their data folder.
const COMPUTED: ImportRules['computed'] = [
  'src/channels/whatsapp-web/draw-qr.ts',
  'src/channels/whatsapp-web/thread/library.ts',
]

const RULES = { folders: FOLDERS, packages: PACKAGES, outside: OUTSIDE, computed: COMPUTED }

// The bootstrap and the start of the executable run before settings can be read. The place of Mermaid, the tier of tests, and the
// maker of a Debian package are not settings of the service.
const MAY_READ_ENVIRONMENT = [
  'src/config/',
  'src/executable/',
  'scripts/bootstrap',
  'scripts/build-deb.ts',
  'scripts/draw-diagrams.ts',
  'scripts/tiers/',
]

describe('the sources', () => {
  const sources = readTree('src/**/*.{ts,js}')

  it('are found', () => {
    assert.notEqual(sources.size, 0)
  })

  it('import only what the tables above allow', () => {
    assert.deepEqual(findForbiddenImports(sources, RULES), [])
  })

  it('import what docs/architecture.md says', () => {
    const page = readTree('docs/architecture.md').get('docs/architecture.md') ?? ''
    const folders = Object.entries(FOLDERS).map(([folder, { mayImport }]) => rowOf(folder, mayImport))
    const packages = Object.entries(PACKAGES).map(([name, places]) => rowOf(name, places))

    assert.deepEqual(page.match(/^\| `[^`]+` \| .*$/gm), [...folders, ...packages])
  })

  it('have no import cycles', () => {
    assert.deepEqual(findCycles(sources), [])
  })

  it('read the environment only in config', () => {
    const all = new Map([...sources, ...readTree('scripts/**/*.{ts,mjs}')])

    assert.deepEqual(findEnvironmentReads(all, MAY_READ_ENVIRONMENT), [])
  })
})

describe('the console', () => {
  // The build of the console is not part of what browsers get.
  const pages = new Map([...readTree('console/**/*.{ts,tsx}')].filter(([file]) => !file.startsWith('console/build/')))

  it('is found', () => {
    assert.notEqual(pages.size, 0)
  })

  it('imports only the contract, like any other client, and the format of values', () => {
    assert.deepEqual(findImportsOutOf(pages, 'console/', ['src/contract/', 'src/format/']), [])
  })

  it('has no import cycles', () => {
    assert.deepEqual(findCycles(pages), [])
  })

  it('loads code later only where a missing file is handled', () => {
    const other = [...pages]
      .filter(([file]) => file !== 'console/app/routes.tsx' && file !== 'console/components/load-later.ts')
      .flatMap(([file, text]) => text.split('\n').map((line) => ({ file, line: line.trim() })))
      .filter(({ line }) => /\bimport\(|\blazy\w*\(/.test(line) && !/\b(?:lazily|loadLater)\(/.test(line))

    // Each of these follows a call that fails when the service is away.
    assert.deepEqual([...new Set(other.map(({ file }) => file))], ['console/components/passkey-calls.ts'])
  })

  it.each([
    ['the core', `import { Refusal } from '../../src/core/refusals.ts'`],
    ['a type of the server', `import type { ConsoleRequest } from '../../src/http/console-api/request-context.ts'`],
    ['a test', `import { world } from '../../test/support/world.ts'`],
  ])('would be found out if it imported %s', (_, line) => {
    const tree = new Map([['console/components/page.tsx', line]])

    assert.equal(findImportsOutOf(tree, 'console/', ['src/contract/']).length, 1)
  })

  it('may import its own files, packages and the contract', () => {
    const lines = [
      `import { call } from '../api/call.ts'`,
      `import { useState } from 'react'`,
      `import { page } from '../../src/contract/console/shapes.ts'`,
    ]

    assert.deepEqual(
      findImportsOutOf(new Map([['console/components/page.tsx', lines.join('\n')]]), 'console/', ['src/contract/']),
      [],
    )
  })
})

describe('the client', () => {
  const client = readTree('client/**/*.ts')

  it('is found', () => {
    assert.notEqual(client.size, 0)
  })

  // Its own tsconfig and the test of its build ensure that it uses no package and nothing of Node.
  it('imports none of our code, because it is installed without it', () => {
    assert.deepEqual(findImportsOutOf(client, 'client/', []), [])
  })
})

describe('the rule of imports, on trees that break it', () => {
  it.each([
    ['core imports an adapter', 'src/core/claim.ts', `import { open } from '../media/fetch.ts'`],
    ['core imports an adapter as a type', 'src/core/claim.ts', `import type { Open } from '../media/fetch.ts'`],
    ['core imports a type in passing', 'src/core/claim.ts', `export type O = import('../media/fetch.ts').Open`],
    ['core imports the contract', 'src/core/claim.ts', `import { shape } from '../contract/send.ts'`],
    ['core imports a package', 'src/core/claim.ts', `import { z } from 'zod'`],
    ['core imports from Node', 'src/core/claim.ts', `import { join } from 'node:path'`],
    ['core imports from Node by its old name', 'src/core/claim.ts', `import { join } from 'path'`],
    ['the contract imports the core', 'src/contract/send.ts', `export { rule } from '../core/rule.ts'`],
    ['the contract imports from Node', 'src/contract/send.ts', `import { isIP } from 'node:net'`],
    ['one engine imports the other', 'src/storage/sqlite/open.ts', `import { pg } from '../postgres/open.ts'`],
    ['what engines share imports an engine', 'src/storage/queries/row.ts', `import { pg } from '../postgres/open.ts'`],
    ['one channel imports another', 'src/channels/sandbox/index.ts', `import { s } from '../telex/send.ts'`],
    ['one area of http imports another', 'src/http/api/send.ts', `import { p } from '../console-api/page.ts'`],
    ['media imports http', 'src/media/fetch.ts', `export * from '../http/server/reply.ts'`],
    ['an adapter imports the server', 'src/http/server/reply.ts', `import { serve } from '../../server/serve.ts'`],
    ['the server imports cli', 'src/server/serve.ts', `const { main } = await import('../cli/main.ts')`],
    ['cli imports an adapter', 'src/cli/main.ts', `import { open } from '../storage/sqlite/open.ts'`],
    ['a package out of its folder', 'src/notify/mail.ts', `import { request } from 'undici'`],
    ['a part of a package out of its folder', 'src/media/fetch.ts', `import x from 'fastify/types/reply.js'`],
    ['the database out of storage', 'src/server/serve.ts', `import { DatabaseSync } from 'node:sqlite'`],
    ['a package that is not listed', 'src/http/server/reply.ts', `import cors from '@fastify/cors'`],
    ['a folder that is not listed', 'src/extras/thing.ts', `import { rule } from '../core/rule.ts'`],
    ['a file that lies in no folder', 'src/main.ts', `import { rule } from './core/rule.ts'`],
    ['a path that is computed', 'src/server/serve.ts', `const channel = await import('../channels/' + name)`],
    ['a file that is not there', 'src/server/serve.ts', `import { gone } from '../core/gone.ts'`],
    ['a file outside src', 'src/server/serve.ts', `import { world } from '../../test/support/world.ts'`],
    ['a test', 'src/server/serve.ts', `import { world } from '../core/rule.test.ts'`],
  ])('finds %s', (_, file, line) => {
    const found = findForbiddenImports(treeWith({ [file]: `\n${line}\n` }), RULES)

    assert.equal(found.length, 1, found.join('\n'))
    assert.ok(found[0]?.startsWith(`${file}:2 `), found[0])
  })

  it('allows what the tables allow', () => {
    const tree = treeWith({
      'src/contract/shape.ts': `import { z } from 'zod'`,
      'src/core/claim.ts': `import { rule } from './rule.ts'`,
      'src/storage/sqlite/claim.ts': `import { DatabaseSync } from 'node:sqlite'\nimport { row } from '../queries/row.ts'`,
      'src/http/api/send-message.ts': `import { send } from '../../contract/send.ts'\nimport { r } from '../server/reply.ts'`,
      'src/server/start.ts': `import { open } from '../storage/postgres/open.ts'\nimport data from '../../package.json' with { type: 'json' }`,
      'src/cli/token.ts': `import { serve } from '../server/serve.ts'\n// import { open } from '../media/fetch.ts'`,
      'src/core/claim.test.ts': `import { open } from '../storage/sqlite/open.ts'\nimport { it } from 'vitest'`,
    })

    assert.deepEqual(findForbiddenImports(tree, RULES), [])
  })

  it('reports where a fault is, what it is, and what would be allowed', () => {
    const tree = treeWith({ 'src/cli/main.ts': `import { fetchMedia } from '../media/fetch.ts'` })

    assert.deepEqual(findForbiddenImports(tree, RULES), [
      'src/cli/main.ts:1 imports src/media/fetch.ts, but cli may import only assets, config, contract, core, format, operations, server',
    ])
  })
})

describe('the search for cycles, on trees that have some', () => {
  it('finds two files that import each other, even as types', () => {
    const tree = new Map([
      ['src/core/a.ts', `import { b } from './b.ts'`],
      ['src/core/b.ts', `import type { A } from './a.ts'`],
    ])

    assert.deepEqual(findCycles(tree), ['src/core/a.ts → src/core/b.ts → src/core/a.ts'])
  })

  it('finds a cycle that begins behind another file, and names it once', () => {
    const tree = new Map([
      ['src/server/serve.ts', `import '../core/a.ts'; import '../core/c.ts'`],
      ['src/core/a.ts', `export * from './b.ts'`],
      ['src/core/b.ts', `const c = () => import('./c.ts')`],
      ['src/core/c.ts', `import { a } from './a.ts'`],
    ])

    assert.deepEqual(findCycles(tree), ['src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts'])
  })

  it('allows two paths to one file', () => {
    const tree = new Map([
      ['src/core/a.ts', `import './b.ts'; import './c.ts'`],
      ['src/core/b.ts', `import './c.ts'`],
      ['src/core/c.ts', ''],
    ])

    assert.deepEqual(findCycles(tree), [])
  })
})

describe('the search for readers of the environment', () => {
  it.each([
    'const port = process.env.PORT',
    `const port = process['env']['PORT']`,
    'const port = globalThis.process.env.PORT',
    'const { env } = process',
    `import { env as surroundings } from 'node:process'`,
    'start({ ...process.env })',
  ])('finds %s', (line) => {
    const tree = new Map([['src/server/serve.ts', line]])

    assert.deepEqual(findEnvironmentReads(tree, MAY_READ_ENVIRONMENT), ['src/server/serve.ts:1 reads the environment'])
  })

  it('allows config to read it, and others to have their own env', () => {
    const tree = new Map([
      ['src/config/read-settings.ts', 'const settings = parse(process.env)'],
      ['src/server/serve.ts', 'const port = settings.env; process.exitCode = 1 // process.env'],
    ])

    assert.deepEqual(findEnvironmentReads(tree, MAY_READ_ENVIRONMENT), [])
  })
})

function rowOf(name: string, places: readonly string[]): string {
  return `| \`${name}\` | ${places.map((place) => `\`${place}\``).join(', ') || 'nothing'} |`
}

/** A small tree that has every file that the examples import, and these files. */
function treeWith(files: Readonly<Record<string, string>>): Tree {
  const others = [
    'src/server/serve.ts',
    'src/channels/telex/send.ts',
    'src/cli/main.ts',
    'src/contract/send.ts',
    'src/core/rule.test.ts',
    'src/core/rule.ts',
    'src/http/console-api/page.ts',
    'src/http/server/reply.ts',
    'src/media/fetch.ts',
    'src/storage/postgres/open.ts',
    'src/storage/queries/row.ts',
    'src/storage/sqlite/open.ts',
  ]
  return new Map([...others.map((file) => [file, ''] as const), ...Object.entries(files)])
}
