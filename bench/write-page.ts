import { readFileSync, writeFileSync } from 'node:fs'
import { type BenchResults, describeMachine, type Table, tablesOf } from './results.ts'

const PAGE = new URL('../docs/performance.md', import.meta.url)
const BEGIN = '<!-- figures: written by npm run bench -->'
const END = '<!-- end of figures -->'

/** Writes the figures of a complete run between the two marks in docs/performance.md. */
export function writePage(results: BenchResults): void {
  const page = readFileSync(PAGE, 'utf8')
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error('docs/performance.md has lost the marks between which figures go')
  const tables = tablesOf(results).flatMap((table) => [...markdownOf(table), ''])
  const text = [BEGIN, '', `${results.at.slice(0, 10)}. ${describeMachine(results)}.`, '', ...tables, ''].join('\n')
  writeFileSync(PAGE, page.slice(0, begin) + text + page.slice(end))
}

function markdownOf([head = [], ...rows]: Table): string[] {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
}
