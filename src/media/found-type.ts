/** What looking at the bytes of a file came to. */
export interface FoundType {
  readonly mime: string
  /** With its article, as it stands in a sentence: "The file is a PNG image". */
  readonly words: string
}
