/** One line of /proc/self/mountinfo. */
export interface Mount {
  readonly point: string
  /** Such as `ext4`. */
  readonly type: string
  /** Such as `/dev/sda1`. */
  readonly source: string
  readonly options: readonly string[]
}

/** The mount that a path lies on; null when the text names none. The path must be absolute and without links. */
export function findMount(mountInfo: string, path: string): Mount | null {
  const mounts = mountInfo.split('\n').map(readLine)
  // If two mounts have the same point, the later one covers the earlier.
  return mounts.reduce<Mount | null>(
    (best, mount) =>
      mount && isIn(path, mount.point) && mount.point.length >= (best?.point.length ?? 0) ? mount : best,
    null,
  )
}

// 36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue
function readLine(line: string): Mount | null {
  const [before = '', after] = line.split(' - ')
  if (after === undefined) return null
  const [, , , , point = '', options = ''] = before.split(' ')
  const [type = '', source = ''] = after.split(' ')
  return { point: unescaped(point), type, source: unescaped(source), options: options.split(',') }
}

/** Blanks and the like stand as `\040`. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

function isIn(path: string, point: string): boolean {
  return point === '/' || path === point || path.startsWith(`${point}/`)
}
