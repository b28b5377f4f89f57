/** Waits for something that the server does by itself. The test's deadline ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}
