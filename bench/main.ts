import { mkdirSync, writeFileSync } from 'node:fs'
import { Bench } from './bench.ts'
import type { PlacedFigure } from './figure.ts'
import { readMachineFacts } from './machine-facts.ts'
import { readOptions, USAGE } from './options.ts'
import { measurePart, PARTS } from './parts.ts'
import { type BenchResults, printResults } from './results.ts'
import { writePage } from './write-page.ts'

const LATEST = new URL('./results/latest.json', import.meta.url)

const options = readOptions(process.argv.slice(2))
if ('usage' in options) {
  console.error(options.usage)
  process.exitCode = options.usage === USAGE ? 0 : 2
} else {
  const bench = new Bench({ ...options, print: (line) => console.log(line) })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void bench.close().finally(() => process.exit(1)))
  }
  try {
    await run(bench, options)
  } finally {
    await bench.close()
  }
  process.exit(process.exitCode ?? 0)
}

async function run(
  bench: Bench,
  { only, jsonFile }: { only: readonly string[]; jsonFile: string | null },
): Promise<void> {
  const { seconds, rounds, isQuick, rows } = bench.options
  const machine = readMachineFacts(bench.folder)
  const figures: PlacedFigure[] = []
  for (const part of PARTS) {
    if (isQuick && !part.isForQuick && !only.includes(part.name)) continue
    figures.push(...(await measurePart(bench, part, only)))
  }
  const machineAfter = readMachineFacts(bench.folder)
  const results: BenchResults = {
    at: new Date().toISOString(),
    machine,
    postgres: await bench.postgresFacts(),
    flushP50MsAfter: machineAfter.flushP50Ms,
    options: { seconds, rounds, isQuick, rows, only },
    figures,
  }
  console.log(printResults(results))
  if (jsonFile) writeFileSync(jsonFile, asText(results))
  // Only a complete run is written to the page.
  if (isQuick || only.length > 0) return
  mkdirSync(new URL('.', LATEST), { recursive: true })
  writeFileSync(LATEST, asText(results))
  writePage(results)
}

function asText(results: BenchResults): string {
  return `${JSON.stringify(results, null, 2)}\n`
}
