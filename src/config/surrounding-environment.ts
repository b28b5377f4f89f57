/** The environment of this process without our settings, for child programs. */
export function surroundingEnvironment(): Record<string, string> {
  const others = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^nuncio_/i.test(entry[0]),
  )
  return Object.fromEntries(others)
}
