/** Waits until something that the server does by itself has happened; the test's own deadline ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}
