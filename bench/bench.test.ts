import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Figure, isReached } from './figure.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { isWanted, PARTS } from './parts.ts'
import { OrderWatch } from './peers/order-watch.ts'
import { type BenchResults, tablesOf } from './results.ts'
import { percentile } from './statistics.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

async function runBench(...options: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [output, code] = await Promise.all([text(child.stdout), ended])
  return { code, output }
}

// Proves nothing about speed: a missed figure is no failure here.
describe('the bench', () => {
  it.each([
    {
      part: 'accepts',
      engine: 'postgres',
      expected: 'durable accepts / bare route',
      expectedNote: /huge_pages_status (on|off).*; pages written out after \d/,
    },
    {
      part: 'latency',
      engine: 'sqlite',
      expected: 'a lane at rest, p50',
      expectedNote: /; pages written out after \d/,
    },
    {
      part: 'bridge',
      engine: 'sqlite',
      expected: 'bridge, 1 lane beside hanging adapters / alone',
      expectedNote: /; pages written out after \d/,
    },
    {
      part: 'whatsapp-web',
      engine: 'sqlite',
      expected: 'WhatsApp Web: CPU of a message',
      expectedNote: /; pages written out after \d/,
    },
  ])(
    'measures $part on $engine, writes it as JSON, and notes the machine and its settings',
    async ({ part, engine, expected, expectedNote }) => {
      const folder = mkdtempSync(join(tmpdir(), 'nuncio-bench-test-'))
      const file = join(folder, 'results.json')

      const { code, output } = await runBench('--quick', '--only', part, '--only', engine, '--json', file)
      const { figures } = JSON.parse(readFileSync(file, 'utf8')) as BenchResults
      rmSync(folder, { recursive: true })

      expect(code).toBe(0)
      expect(output).toContain(expected)
      if (process.platform === 'linux') expect(output).toMatch(expectedNote)
      expect(figures.map(({ value }) => value)).not.toContain(0)
      expect(new Set(figures.map((figure) => `${figure.part} ${figure.engine}`))).toEqual(
        new Set([`${part} ${engine}`]),
      )
    },
  )

  it('prints its usage for an unknown part', async () => {
    const { code } = await runBench('--only', 'everything')

    expect(code).toBe(2)
  })
})

describe('what `--only` selects', () => {
  const namesLeft = (...only: readonly string[]) =>
    PARTS.flatMap((part) =>
      (part.engines ?? [null])
        .filter((engine) => isWanted(only, part, engine))
        .map((engine) => `${part.name} ${engine ?? ''}`.trim()),
    )

  it('is everything if nothing is named', () => {
    expect(namesLeft()).toEqual(expect.arrayContaining(['accepts sqlite', 'accepts postgres', 'peers']))
  })

  it('is a part on all its engines, an engine with all its parts, or one of each', () => {
    expect(namesLeft('dispatch')).toEqual(['dispatch sqlite', 'dispatch postgres'])
    expect(namesLeft('sqlite')).toContain('media sqlite')
    expect(namesLeft('sqlite').filter((name) => !name.endsWith('sqlite'))).toEqual([])
    expect(namesLeft('dispatch', 'postgres')).toEqual(['dispatch postgres'])
    expect(namesLeft('peers')).toEqual(['peers'])
  })
})

describe('the tables', () => {
  it('show the engines side by side, and separately the figures of neither', () => {
    const common = { part: 'x', unit: '/s', rounds: [], note: '' }
    const tables = tablesOf({
      figures: [
        { ...common, name: 'both', value: 5, reach: { atLeast: 4 }, engine: 'sqlite' },
        { ...common, name: 'both', value: 3, reach: { atLeast: 4 }, engine: 'postgres' },
        { ...common, name: 'one', value: 7, reach: null, note: 'why', engine: 'postgres' },
        { ...common, name: 'other', value: 9, reach: null, engine: null },
      ],
    })

    expect(tables).toEqual([
      [
        ['What', 'SQLite', 'PostgreSQL', 'Note'],
        ['both', '5/s (≥ 4/s: yes)', '3/s (≥ 4/s: no)', ''],
        ['one', '', '7/s', 'why'],
      ],
      [
        ['Beside others', 'Measured', 'Note'],
        ['other', '9/s', ''],
      ],
    ])
  })

  it('report a job that came too early or twice as out of order', () => {
    const watch = new OrderWatch()

    for (const place of [0, 1, 3, 2, 2]) watch.note(1, place)
    watch.note(2, 0)

    expect([watch.done, watch.outOfOrder]).toEqual([6, 3])
  })
})

describe('what the bench computes', () => {
  it('computes the same percentiles from a histogram and from a list', () => {
    const times = Array.from({ length: 100 }, (_, place) => place + 0.5)
    const histogram = new LatencyHistogram()
    for (const time of times) histogram.add(time)

    expect(histogram.percentileMs(0.99)).toBeCloseTo(percentile(times, 0.99), 1)
    expect(percentile([3, 1, 2], 0.5)).toBe(2)
    expect(percentile([4, 1, 2, 3], 0.5)).toBe(2.5)
  })

  it('knows whether a figure should be high or low', () => {
    const figure: Figure = { part: 'x', name: 'x', value: 5, unit: '', reach: { atMost: 5 }, rounds: [], note: '' }

    expect(isReached(figure)).toBe(true)
    expect(isReached({ ...figure, reach: { atLeast: 6 } })).toBe(false)
    expect(isReached({ ...figure, reach: null })).toBe(null)
  })
})
