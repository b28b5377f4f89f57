/** The format of a file according to its bytes. */
export interface FoundType {
  readonly mime: string
  /** With its article, for a sentence: "The file is a PNG image". */
  readonly words: string
}
