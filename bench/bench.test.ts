import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Figure, isReached } from './figure.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import type { BenchResults } from './results.ts'
import { percentile } from './statistics.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

async function runBench(...options: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [MAIN, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [output, code] = await Promise.all([text(child.stdout), ended])
  return { code, output }
}

// Says nothing about speed: a figure that is missed here is no failure.
describe('the bench', () => {
  it('measures accepts against the bare route and dispatch, and writes both as JSON', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-bench-test-'))
    const file = join(folder, 'results.json')

    const { code, output } = await runBench('--quick', '--only', 'accepts', '--only', 'latency', '--json', file)
    const { figures } = JSON.parse(readFileSync(file, 'utf8')) as BenchResults
    rmSync(folder, { recursive: true })

    expect(code).toBe(0)
    expect(output).toContain('durable accepts / bare route')
    expect(figures.map(({ value }) => value)).not.toContain(0)
    expect(new Set(figures.map(({ part }) => part))).toEqual(new Set(['accepts', 'latency']))
  })

  it('says how it is used when it is given an unknown part', async () => {
    const { code } = await runBench('--only', 'everything')

    expect(code).toBe(2)
  })
})

describe('what the bench computes', () => {
  it('takes percentiles from a histogram and from a list alike', () => {
    const times = Array.from({ length: 100 }, (_, place) => place + 0.5)
    const histogram = new LatencyHistogram()
    for (const time of times) histogram.add(time)

    expect(histogram.percentileMs(0.99)).toBeCloseTo(percentile(times, 0.99), 1)
    expect(percentile([3, 1, 2], 0.5)).toBe(2)
    expect(percentile([4, 1, 2, 3], 0.5)).toBe(2.5)
  })

  it('knows which way a figure is to go', () => {
    const figure: Figure = { part: 'x', name: 'x', value: 5, unit: '', reach: { atMost: 5 }, rounds: [], note: '' }

    expect(isReached(figure)).toBe(true)
    expect(isReached({ ...figure, reach: { atLeast: 6 } })).toBe(false)
    expect(isReached({ ...figure, reach: null })).toBe(null)
  })
})
