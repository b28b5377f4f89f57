/** The end of a test's name that says why it is skipped. */
export function skipNote(obstacle: string | null): string {
  return obstacle === null ? '' : ` (skipped: ${obstacle})`
}
