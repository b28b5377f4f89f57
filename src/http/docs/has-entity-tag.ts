/** Whether a header `If-None-Match` names this tag. */
export function hasEntityTag(header: string | undefined, tag: string): boolean {
  // Split at the comma alone: a pattern like /\s*,\s*/ is quadratic in a long run of blanks.
  return (header ?? '').split(',').some((known) => known.trim() === tag)
}
