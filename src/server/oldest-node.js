// Plain JavaScript without packages: whatever Node is there reads it, before it is known to be new enough.

/** The first Node with `crypto.randomUUIDv7` (https://nodejs.org/en/blog/release/v24.16.0), which makes the ids of messages. */
export const OLDEST_NODE = '24.16'

export function isNodeTooOld() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
