import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openTestFolder } from './test-folder.ts'

const LOG_SHOWN = 4_000

/**
 * Runs one of our scripts that mounts things and starts programs. It has its own mount and process namespaces: when it ends or is
 * killed, the kernel ends its processes, undoes its mounts and frees its loop devices. The script gets its arguments, among them
 * a folder to work in, as JSON, and prints its report as JSON.
 */
export async function runInOwnMounts<Report>(
  script: URL,
  { deadlineMs, ...given }: { readonly deadlineMs: number; readonly [name: string]: unknown },
): Promise<Report> {
  const folder = openTestFolder()
  const argument = JSON.stringify({ ...given, workDir: folder.path })
  const child = spawn('unshare', [...NAMESPACES, process.execPath, fileURLToPath(script), argument], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  })
  let [report, log] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    report += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_SHOWN)
  })
  try {
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    )
    if (code !== 0) throw new Error(`${fileURLToPath(script)} ended with ${code ?? 'a kill at its deadline'}:\n${log}`)
    return JSON.parse(report) as Report
  } finally {
    folder.remove()
  }
}

/** Called by such a script: returns its arguments. The script ends with its parent, whose death closes the pipe. */
export function readRunArguments<Arguments>(): Arguments & { readonly workDir: string } {
  process.stdin.on('end', () => process.exit(1)).resume()
  return JSON.parse(process.argv[2] ?? '{}') as Arguments & { readonly workDir: string }
}

/** Called by such a script: prints the report and exits. */
export function reportAndExit(report: unknown): void {
  process.stdout.write(JSON.stringify(report), () => process.exit(0))
}

/** Null where mounts can be made. Otherwise the reason, for the name of a skipped test. */
export function whyNoOwnMounts(tools: readonly string[] = []): string | null {
  if (process.platform !== 'linux') return 'this is not Linux'
  if (process.getuid?.() !== 0) return 'only root may mount'
  const missing = tools.filter(
    (tool) => !['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((dir) => existsSync(`${dir}/${tool}`)),
  )
  if (missing.length > 0) return `${missing.join(' and ')} is not installed`
  try {
    execFileSync('unshare', [...NAMESPACES, 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' })
  } catch {
    return 'this machine does not allow mounts'
  }
  if (tools.includes('mkfs.xfs') && !existsSync('/dev/loop-control')) return 'there are no loop devices'
  return null
}

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc', '--']
