/**
 * Which process holds a lock on a file, from the text of /proc/locks; null when nobody does. Nothing is tried on the file
 * itself: for an instant that could keep a service from starting.
 */
export function findLockHolder(locks: string, file: { readonly ino: number }): number | null {
  // 1: POSIX  ADVISORY  WRITE 1234 08:01:5678 1073741824 1073741825
  const held = locks
    .split('\n')
    .map((line) => /^\d+: \S+ +\S+ +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line))
    .find((found) => found !== null && Number(found[2]) === file.ino)
  return held ? Number(held[1]) : null
}
