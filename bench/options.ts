import { parseArgs } from 'node:util'
import { ENGINES } from './engine.ts'
import { PARTS } from './parts.ts'

export interface Options {
  readonly only: readonly string[]
  readonly seconds: number
  readonly rounds: number
  readonly jsonFile: string | null
  readonly isQuick: boolean
  readonly rows: 'small' | 'full'
}

export const USAGE = `npm run bench -- [options]

  --only NAME     one part, or one engine, or both (may be given again):
                  ${PARTS.map(({ name }) => name).join(', ')}; ${ENGINES.join(', ')}
  --seconds N     how long each turn counts (3)
  --rounds N      how many turns each thing has (3)
  --rows SIZE     small or full: how many rows the part “rows” makes (full: 15 million, some 10 GB on each engine)
  --json FILE     writes the results there, too
  --quick         tiny numbers, one round: shows that the bench runs, says nothing about speed

From the environment:
  NUNCIO_BENCH_POSTGRES_URL   a superuser on a server to use instead of one of our own
  NUNCIO_BENCH_REDIS_URL      a Redis for BullMQ, instead of one on its usual port or an installed redis-server
  NUNCIO_BENCH_BULLMQ         a folder in which BullMQ is installed: \`npm install --prefix FOLDER bullmq@6.7.0 ioredis@6.0.0\``

/** Parses the arguments. Returns what is wrong, or the usage, if there is nothing to run. */
export function readOptions(given: readonly string[]): Options | { readonly usage: string } {
  try {
    const { values } = parseArgs({
      args: [...given],
      options: {
        only: { type: 'string', multiple: true, default: [] },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        rows: { type: 'string', default: 'full' },
        json: { type: 'string' },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) return { usage: USAGE }
    const seconds = numberOf('--seconds', values.seconds ?? (values.quick ? '0.5' : '3'))
    const rounds = numberOf('--rounds', values.rounds ?? (values.quick ? '1' : '3'))
    const known: readonly string[] = [...PARTS.map(({ name }) => name), ...ENGINES]
    const unknown = values.only.find((name) => !known.includes(name))
    if (unknown !== undefined) throw new Error(`There is no part or engine “${unknown}”.`)
    const { rows } = values
    if (rows !== 'small' && rows !== 'full') throw new Error('--rows is either small or full.')
    return { only: values.only, seconds, rounds, jsonFile: values.json ?? null, isQuick: values.quick, rows }
  } catch (error) {
    return { usage: `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}` }
  }
}

function numberOf(name: string, text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new Error(`${name} takes a number above 0, not “${text}”.`)
  return value
}
