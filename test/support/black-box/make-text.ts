import type { Random } from './random.ts'

const LONGEST = 4_096
// What is often mangled on the way: characters beyond 16 bits, joined emoji, right-to-left text, combining marks,
// quotes and line ends of every kind.
const SAMPLES = ['plain words', '🙂👩‍👩‍👧‍👦', 'שלום עולם', 'é ü ệ', '"\'`\\ {}', 'a\tb\nc\r\nd', '﷽', '  ', ' end ']

/** A text that no other request has. Now and then it is as long as allowed. */
export function makeText(mark: string, random: Random, longest = LONGEST): string {
  const sample = SAMPLES[random.between(0, SAMPLES.length - 1)] ?? ''
  const text = `${mark} ${sample}`
  if (random.next() > 0.02) return text
  const missing = longest - Array.from(text).length
  return missing > 0 ? `${text}${'x'.repeat(missing)}` : text
}
