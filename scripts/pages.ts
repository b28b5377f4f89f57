/** A page that is printed from tables in the sources, so that it cannot say anything else than they do. */
export interface Page {
  readonly file: string
  readonly make: () => string | Promise<string>
}

export const PAGES: readonly Page[] = []
