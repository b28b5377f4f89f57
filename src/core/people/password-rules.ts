import { Refusal } from '../refusals.ts'
import { EASY_PARTS } from './easy-parts.ts'

/** Longer without a second factor: then the password is the only protection. */
const LEAST_ALONE = 15
const LEAST_WITH_SECOND_FACTOR = 12
/** Hashing takes longer for a longer password. */
const MOST_BYTES = 256
const LEAST_DISTINCT = 6
/** This many characters must be left when everything is removed that guessers try first. */
const LEAST_OWN = 5

interface PasswordOwner {
  readonly email: string
  readonly name: string
  readonly hasSecondFactor: boolean
}

/**
 * Refuses with `password_weak` and a sentence that says how to do better. No rules about kinds of characters, and no
 * end of life: both make people choose worse passwords.
 */
export function checkPassword(password: string, owner: PasswordOwner): void {
  const least = owner.hasSecondFactor ? LEAST_WITH_SECOND_FACTOR : LEAST_ALONE
  if ([...password].length < least) refuse(`A password has at least ${least} characters. Some words in a row are fine.`)
  if (new TextEncoder().encode(password).length > MOST_BYTES)
    refuse(`A password has at most ${MOST_BYTES} bytes: this one is longer.`)
  if (isEasy(password, [owner.email, ...owner.email.split(/[@.+_-]/), ...owner.name.split(/\s+/)]))
    refuse('This password is among the first that are guessed. Take some words that do not belong together.')
}

function refuse(sentence: string): never {
  throw new Refusal('password_weak', sentence, 'password')
}

function isEasy(password: string, ownWords: readonly string[]): boolean {
  const plain = password.toLowerCase()
  if (new Set(plain).size < LEAST_DISTINCT) return true
  return [plain, withoutDisguise(plain)].some((text) => ownPart(text, ownWords).length < LEAST_OWN)
}

const DISGUISES: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '8': 'b',
  '@': 'a',
  $: 's',
  '!': 'i',
}

function withoutDisguise(text: string): string {
  return Array.from(text, (sign) => DISGUISES[sign] ?? sign).join('')
}

/** The part that is hard to guess: without common words, the person's own, runs along the keyboard, repeats. */
function ownPart(text: string, ownWords: readonly string[]): string {
  let rest = text
  const words = [...ownWords.map((word) => word.toLowerCase()).filter((word) => word.length >= 3), ...EASY_PARTS]
  for (const word of words.toSorted((one, other) => other.length - one.length)) rest = rest.replaceAll(word, ' ')
  rest = withoutRuns(rest)
  // A repetition is no harder to guess.
  rest = rest.replace(/(.{2,}?)\1+/gu, '$1').replace(/(.)\1+/gu, '$1')
  // Digits and signs add little: most people put them at the end.
  return rest.replace(/[\s\d\p{P}\p{S}]+/gu, '')
}

const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiopü',
  'azertyuiop',
  '1234567890',
]
const LEAST_RUN = 4

function withoutRuns(text: string): string {
  let rest = text
  for (const row of ROWS) {
    for (const line of [row, [...row].reverse().join('')]) {
      for (let length = line.length; length >= LEAST_RUN; length -= 1)
        for (let from = 0; from + length <= line.length; from += 1)
          rest = rest.replaceAll(line.slice(from, from + length), ' ')
    }
  }
  return rest
}
