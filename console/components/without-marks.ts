/** A sentence of the service as plain text: without the backticks around names. */
export function withoutMarks(sentence: string): string {
  return sentence.replaceAll('`', '')
}
