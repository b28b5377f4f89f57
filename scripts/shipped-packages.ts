/** An entry of package-lock.json. */
export interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface Lock {
  readonly name: string
  readonly version: string
  /** By where they lie; ours is ''. */
  readonly packages: Readonly<Record<string, Locked>>
}

/**
 * Where the packages lie that what runs needs: neither development alone nor only a certain system. By following who needs
 * whom, because the marks in the lock stand for how it was once written, and npm itself does not go by them.
 */
export function findShipped({ packages }: Lock): readonly string[] {
  const found = new Set<string>()
  const follow = (from: string) => {
    const entry = packages[from]
    const peers = Object.keys(entry?.peerDependencies ?? {}).filter(
      (name) => !entry?.peerDependenciesMeta?.[name]?.optional,
    )
    for (const name of [...Object.keys(entry?.dependencies ?? {}), ...(from === '' ? [] : peers)]) {
      const place = locate(packages, from, name)
      if (place === null || found.has(place)) continue
      found.add(place)
      follow(place)
    }
  }
  follow('')
  return [...found].toSorted()
}

/** As Node looks for it: beside whoever asks, then in each folder above. Null when it was not installed. */
function locate(packages: Lock['packages'], from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const place = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (place in packages) return place
    if (at === '') return null
  }
}
