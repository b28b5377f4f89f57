import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { type PostgresServer, type PostgresSettings, withClient } from '../../support/postgres/postgres-server.ts'

const FOLDER = 'plans'

/** How one statement read one table, or one partition, when it ran. */
export interface Scan {
  readonly kind: string
  /** For a partition: the table that it belongs to. */
  readonly table: string
  readonly relation: string
  readonly index: string | null
  /** All rows that it read, wanted or not. */
  readonly rows: number
  /** Counts blocks too: otherwise reading a whole index for one row would seem harmless. */
  readonly blocks: number
}

/** A statement as it ran, sent by one of our processes or inside a function. */
export interface Ran {
  readonly sql: string
  /** The innermost function that contains it; null for a statement that was sent. */
  readonly within: string | null
  readonly application: string
  readonly scans: readonly Scan[]
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly Node[]
}

/**
 * The plans of all statements that run on a server, including those inside functions, with what they really did. The server logs
 * them (`auto_explain`), so callers need no change.
 */
export class PlanLog {
  /** The settings of the server. */
  static readonly settings: PostgresSettings = {
    logging_collector: true,
    log_destination: 'jsonlog',
    log_directory: FOLDER,
    log_filename: 'plans.log',
    log_rotation_age: 0,
    log_rotation_size: 0,
  }

  readonly #file: string
  readonly #url: string

  private constructor(file: string, url: string) {
    this.#file = file
    this.#url = url
  }

  /** From now on all new connections to this database are logged. */
  static async open(server: PostgresServer, database: string): Promise<PlanLog> {
    const settings = {
      session_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_nested_statements': 'on',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_buffers': 'on',
      'auto_explain.log_timing': 'off',
      'auto_explain.log_format': 'json',
    }
    for (const [name, value] of Object.entries(settings))
      await server.query(`alter database ${database} set ${name} = '${value}'`)
    return new PlanLog(join(server.dataFolder, FOLDER, 'plans.json'), server.url(database))
  }

  /** The statements that have run, beginning at `since`. */
  async read(since = 0): Promise<readonly Ran[]> {
    // Log a mark last: when it arrives, all lines before it have arrived.
    const mark = `mark ${randomUUID()}`
    await withClient(this.#url, (client) => client.query(`select '${mark}'`))
    await waitUntil('the log is written', async () => this.#text(since).includes(mark), {
      deadlineMs: 30_000,
      everyMs: 20,
    })
    return this.#text(since).split('\n').flatMap(readLine)
  }

  /** The position from which to read on. */
  get end(): number {
    return statSync(this.#file).size
  }

  #text(since: number): string {
    return readFileSync(this.#file).subarray(since).toString()
  }
}

function readLine(line: string): Ran[] {
  if (!line.includes('  plan:\\n')) return []
  const { message, context, application_name } = JSON.parse(line) as Record<string, string | undefined>
  const { 'Query Text': sql, Plan } = JSON.parse(message!.slice(message!.indexOf('\n'))) as {
    'Query Text': string
    Plan: Node
  }
  return [
    {
      sql: sql.replace(/\s+/g, ' ').trim(),
      within: /^(?:PL\/pgSQL|SQL) function "?(\w+)/m.exec(context ?? '')?.[1] ?? null,
      application: application_name ?? '',
      scans: scansOf(Plan),
    },
  ]
}

function scansOf(node: Node): Scan[] {
  const inner = node.Plans ?? []
  const found = inner.flatMap(scansOf)
  const relation = node['Relation Name']
  const loops = node['Actual Loops'] ?? 0
  if (relation === undefined || !node['Node Type'].includes('Scan') || loops === 0) return found
  const read = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Index Recheck'] as const
  // The index of a bitmap scan is a child node; all other nodes count by themselves.
  const others = inner.filter((other) => !other['Node Type'].startsWith('Bitmap'))
  return [
    ...found,
    {
      kind: node['Node Type'],
      table: relation.replace(/_p\d+$/, ''),
      relation,
      index: node['Index Name'] ?? null,
      rows: Math.round(read.reduce((sum, name) => sum + (node[name] ?? 0), 0) * loops),
      blocks: blocksOf(node) - others.reduce((sum, other) => sum + blocksOf(other), 0),
    },
  ]
}

function blocksOf(node: Node): number {
  return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0)
}
