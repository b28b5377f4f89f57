/** One instruction of a Dockerfile, with its continued lines joined. */
interface Instruction {
  readonly name: string
  readonly text: string
}

export interface Stage {
  /** Null: the last stage, which becomes the image. */
  readonly name: string | null
  /** Another stage, or an image. */
  readonly from: string
  readonly instructions: readonly Instruction[]
}

/** Parses the part of the language that our own Dockerfile uses, and refuses the rest. */
export function readDockerfile(text: string): readonly Stage[] {
  const whole = text.replaceAll(/\\\n\s*/g, '')
  const lines = whole.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const stages: (Omit<Stage, 'instructions'> & { instructions: Instruction[] })[] = []
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    if (name === '') throw new Error(`This is no line that is understood here: ${line}`)
    if (name === 'ARG') continue
    if (name === 'FROM') {
      const [from = '', , stage] = rest.split(' ')
      stages.push({ from, name: stage ?? null, instructions: [] })
    } else stages.at(-1)?.instructions.push({ name, text: rest })
  }
  return stages
}

/** Whether a path is part of the build context. The ignore file first leaves out everything, then lists exceptions. */
export function isInContext(ignore: string, path: string): boolean {
  let isIn = true
  for (const line of ignore.split('\n').filter((text) => text !== '' && !text.startsWith('#'))) {
    const [isBack, pattern] = line.startsWith('!') ? [true, line.slice(1)] : [false, line]
    if (fits(pattern, path)) isIn = isBack
  }
  return isIn
}

function fits(pattern: string, path: string): boolean {
  if (pattern === '*') return true
  if (pattern.startsWith('**/*')) return path.endsWith(pattern.slice(4))
  return path === pattern || path.startsWith(`${pattern}/`)
}
