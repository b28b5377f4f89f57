/** A reason to stop that the reader can act on; printed in one sentence, without a stack trace. */
export class Stop extends Error {}

/** Prints what is being done and then how long it took, in one line. */
export async function timed(what, step) {
  const startedAt = performance.now()
  process.stderr.write(`setup: ${what} ... `)
  try {
    const result = await step()
    process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    process.stderr.write('failed\n')
    throw error
  }
}

/** Turns an error of the file system into a sentence. Returns any other error unchanged. */
export function stopBecauseOf(error, folder) {
  switch (error.code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Stop(
        `this user may not write in ${folder}: start as its owner, or copy the folder to a place of your own.`,
      )
    case 'ENOSPC':
    case 'EDQUOT':
      return new Stop(`there is no room on the disk of ${folder}: free about one gigabyte and start again.`)
    default:
      return error
  }
}
