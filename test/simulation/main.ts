import { parseArgs } from 'node:util'
import { type RunResult, simulate } from './simulate.ts'

const REPORT_EVERY_MS = 5_000

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
  },
})

process.exitCode = await main()

async function main(): Promise<number> {
  const first = Number(values.seed ?? values.from)
  const count = values.seed === undefined ? Number(values.seeds) : 1
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count)) {
    console.error('Usage: npm run sim -- [--seeds N] [--from S] [--seed S [--trace]]')
    return 2
  }
  const totals = { seeds: 0, messages: 0, calls: 0, virtualMs: 0 }
  let reportedAt = performance.now()
  for (let seed = first; seed < first + count; seed++) {
    const result = await simulate(seed)
    if (values.trace) console.log(result.trace.join('\n'))
    if (result.violation) return printViolation(result)
    totals.seeds += 1
    totals.messages += result.messages
    totals.calls += result.calls
    totals.virtualMs += result.virtualMs
    if (performance.now() - reportedAt > REPORT_EVERY_MS) {
      reportedAt = performance.now()
      console.log(`seed ${seed}: ${inText(totals)}`)
    }
  }
  console.log(`No promise was broken: ${inText(totals)}`)
  return 0
}

function inText({
  seeds,
  messages,
  calls,
  virtualMs,
}: {
  seeds: number
  messages: number
  calls: number
  virtualMs: number
}): string {
  return `${seeds} runs, ${messages} messages, ${calls} calls, ${(virtualMs / 3_600_000).toFixed(1)} hours of virtual time`
}

function printViolation({ seed, violation, around }: RunResult): number {
  console.error(around.join('\n'))
  console.error(`\nSeed ${seed} breaks ${violation?.invariant}: ${violation?.detail}`)
  console.error(`Again, with everything: npm run sim -- --seed ${seed} --trace`)
  return 1
}
