/** One thing that a check has found: where, what is wrong, and how to fix it. */
export interface Finding {
  readonly file: string
  readonly line?: number
  readonly problem: string
  readonly remedy: string
}

/** Prints one sentence for each finding. If there is any, the process exits with an error. */
export function report(findings: readonly Finding[]): void {
  for (const finding of findings) console.error(sentence(finding))
  if (findings.length > 0) process.exitCode = 1
}

function sentence({ file, line, problem, remedy }: Finding): string {
  const where = line === undefined ? file : `${file}:${line}`
  return `${where} ${problem}: ${remedy}.`
}
